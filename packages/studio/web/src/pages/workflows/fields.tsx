// The fields of a node's form. What is typed is put into the text after a pause, so that a large workflow costs a key no more
// than a small one.
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { parse, stringify } from "yaml";

import type { FieldSchema } from "../../core/flow/types";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { TEXTS } from "./texts";

const PAUSE_MS = 250;

/** Fields that are lists or objects are written as YAML; others are texts, in which a value may stand as JSON. */
function isStructured(schema: FieldSchema): boolean {
  return schema.type === "object" || schema.type === "array";
}

/** What a field shows of a value. */
export function shownValue(value: unknown, schema: FieldSchema = {}): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") return isStructured(schema) ? stringify(value, { lineWidth: 0 }).trimEnd() : JSON.stringify(value, null, 1);
  return schema.type === "string" || readValue(value, schema) === value ? value : JSON.stringify(value);
}

const JSON_LIKE = /^\s*(["[{]|(-?\d[\d.eE+-]*|true|false|null)\s*$)/;

/** What is meant by what was typed; undefined for nothing. */
export function readValue(typed: string, schema: FieldSchema = {}): unknown {
  if (typed === "") return undefined;
  if (schema.type === "string" || (!isStructured(schema) && !JSON_LIKE.test(typed))) return typed;
  try {
    return parse(typed, { maxAliasCount: 10 }) as unknown;
  } catch {
    return typed; // `check` says what does not fit
  }
}

export interface TextTarget {
  insert(text: string): void;
}

/** A text field that puts what was typed into the workflow after a pause, when it is left, and when it goes. */
export function TextField(props: {
  label: string;
  name: string;
  value: unknown;
  schema?: FieldSchema;
  note?: string;
  isRequired?: boolean;
  list?: readonly string[];
  isReadOnly?: boolean;
  onChange: (value: unknown) => void;
  /** Something was typed that `onChange` has not told yet. */
  onTyping?: ((isTyping: boolean) => void) | undefined;
  onTarget?: (target: TextTarget) => void;
}) {
  const say = useText(TEXTS);
  const id = useId();
  const shown = shownValue(props.value, props.schema);
  const [typed, setTyped] = useState(shown);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const field = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  const open = useRef<string>(undefined);
  const put = useRef<() => void>(() => undefined);
  useEffect(() => {
    put.current = () => {
      clearTimeout(timer.current);
      if (open.current === undefined) return;
      const value = readValue(open.current, props.schema);
      open.current = undefined;
      props.onChange(value);
      props.onTyping?.(false);
    };
  });
  useEffect(() => {
    if (open.current === undefined) setTyped((before) => (JSON.stringify(readValue(before, props.schema)) === JSON.stringify(props.value) ? before : shown));
  }, [shown]);
  useEffect(() => () => put.current(), []);
  function type(next: string): void {
    setTyped(next);
    open.current = next;
    props.onTyping?.(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => put.current(), PAUSE_MS);
  }
  const target: TextTarget = {
    insert: (text) => {
      const now = field.current?.value ?? typed; // more may have been typed since this was noted
      const place = field.current?.selectionStart ?? now.length;
      type(now.slice(0, place) + text + now.slice(field.current?.selectionEnd ?? place));
      put.current();
      field.current?.focus();
    },
  };
  const own = {
    id,
    ref: field,
    "data-field": props.name,
    required: props.isRequired,
    readOnly: props.isReadOnly,
    value: typed,
    "aria-describedby": props.note ? `${id}-note` : undefined,
    onPointerDown: () => props.onTarget?.(target),
    onKeyDown: (event: KeyboardEvent) => event.key !== "Tab" && event.key !== "Shift" && props.onTarget?.(target), // not one that is passed by
    onBlur: () => put.current(),
  };
  return (
    <div className="field">
      <label htmlFor={id}>{told(props.label)}</label>
      {props.list ? (
        <>
          <input {...own} list={`${id}-list`} autoComplete="off" onChange={(event) => type(event.target.value)} />
          <datalist id={`${id}-list`}>
            {props.list.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      ) : (
        <textarea {...own} className={props.schema?.type === "string" ? undefined : "code"} rows={Math.min(8, Math.max(1, typed.split("\n").length))} onChange={(event) => type(event.target.value)} />
      )}
      {props.note && (
        <p id={`${id}-note`} className="hint">
          {told(props.note)}
        </p>
      )}
      {!props.note && (props.schema?.type === "object" || props.schema?.type === "array") && <p className="hint">{say("asJson")}</p>}
    </div>
  );
}
