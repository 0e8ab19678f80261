// A form made of a JSON Schema, or of the values that are there: a field for each argument.
import { useId } from "react";

import { told } from "../core/shown";

export type Values = Record<string, unknown>;

interface FieldSchema {
  type?: string | string[];
  enum?: unknown[];
  title?: string;
  description?: string;
}

export interface FormSchema {
  properties?: Record<string, FieldSchema>;
  required?: string[];
}

/** What a field's text says, by the type of its schema or of the value that was there. */
export function read(text: string, before: unknown, schema: FieldSchema = {}): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "string" || (!type && (typeof before === "string" || before === undefined))) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // the server says what does not fit
  }
}

export function written(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

/** `typed`: values that say of which type a field is, where no schema does. */
export function Form(props: { schema?: FormSchema; values: Values; typed?: Values; onChange: (values: Values) => void }) {
  const properties = Object.entries(props.schema?.properties ?? {});
  const names = [...new Set([...properties.map(([name]) => name), ...Object.keys(props.values)])];
  const schemas = new Map(properties);
  return (
    <div className="form">
      {names.map((name) => (
        <Field
          key={name}
          name={name}
          schema={schemas.get(name) ?? {}}
          isRequired={props.schema?.required?.includes(name) ?? false}
          value={own(props.values, name)}
          typed={own(props.typed ?? {}, name)}
          onChange={(value) => props.onChange(withOwn(props.values, name, value))}
        />
      ))}
    </div>
  );
}

function own(values: Values, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** The values with one more; `__proto__` is a name like any other. */
export function withOwn(values: Values, name: string, value: unknown): Values {
  return Object.fromEntries([...Object.entries(values).filter(([each]) => each !== name), [name, value]]);
}

function Field(props: {
  name: string;
  schema: FieldSchema;
  isRequired: boolean;
  value: unknown;
  typed: unknown;
  onChange: (value: unknown) => void;
}) {
  const id = useId();
  const { schema, value } = props;
  const note = schema.description ? `${id}-note` : undefined;
  const name = told(props.name);
  return (
    <div className="field">
      {schema.type === "boolean" ? (
        <label>
          <input type="checkbox" checked={value === true} onChange={(event) => props.onChange(event.target.checked)} aria-describedby={note} />
          {name}
        </label>
      ) : (
        <>
          <label htmlFor={id}>{name}</label>
          {schema.enum ? (
            <select id={id} value={written(value)} onChange={(event) => props.onChange(read(event.target.value, schema.enum?.[0]))}>
              <option value="" />
              {schema.enum.map((each) => (
                <option key={written(each)}>{written(each)}</option>
              ))}
            </select>
          ) : (
            <textarea
              id={id}
              rows={Math.min(6, written(value).split("\n").length)}
              required={props.isRequired}
              aria-describedby={note}
              value={written(value)}
              onChange={(event) => props.onChange(read(event.target.value, props.typed, schema))}
            />
          )}
        </>
      )}
      {schema.description && (
        <p id={note} className="hint">
          {told(schema.description)}
        </p>
      )}
    </div>
  );
}
