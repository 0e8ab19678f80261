// The form of one node: its name, its fields, its connections, and what can be done with it.
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { ask, askAll, orNull } from "../../core/api";
import { type Flow, type FlowEdge, type FlowNode, nameOf, renamed, withField, withoutEdge } from "../../core/flow/document";
import { type KeptLine, withoutLine } from "../../core/flow/report";
import type { NodeState } from "../../core/flow/states";
import { type FieldSchema, isObject, typeOf } from "../../core/flow/types";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import type { Agent, Tool, ToolSchema, WorkflowLine } from "../../core/types";
import { Failed } from "../../parts/failed";
import { useModels } from "../../parts/models";
import { StateText, Value } from "../../parts/values";
import type { Editing } from "./editing";
import { TextField, type TextTarget } from "./fields";
import { useStateWords } from "./outline";
import { TEXTS } from "./texts";

export type Wish = "connect" | "after" | "inside" | "move" | "delete" | "run" | "value";

interface Given {
  flow: Flow;
  node: FlowNode;
  /** Undefined where the node can only be looked at. */
  editing: Editing | undefined;
  state: NodeState | undefined;
  report: readonly KeptLine[];
  onRenamed: (path: string) => void;
  onInsert: (edge: FlowEdge) => void;
  onWish: (wish: Wish, target?: TextTarget) => void;
}

export function NodeForm({ flow, node, editing, state, report, onRenamed, onInsert, onWish }: Given) {
  const say = useText(TEXTS);
  const words = useStateWords();
  const target = useRef<TextTarget>(undefined);
  const type = typeOf(node.type);
  const fields = Object.entries(type?.fields ?? {});
  const own = fields.filter(([name]) => name !== "with" && name !== "title" && name !== "on_error");
  const given = { node, editing, onTarget: (it: TextTarget) => (target.current = it) };
  return (
    <aside aria-label={say("node")} className="card node-form">
      <h2>
        <span className="tool">{told(node.name)}</span> {state && <StateText state={state.state} />}
      </h2>
      <p className="hint">
        {say("type", { type: told(node.type) })}
        {state && ` · ${words(state)}`}
      </p>
      <FromImport lines={report.filter((each) => each.node === node.name)} editing={editing} />
      <NameField {...given} onRenamed={onRenamed} />
      {own.map(([name, schema]) => (
        <OneField key={name} {...given} place={[name]} schema={schema} isRequired={type?.required.includes(name) ?? false} />
      ))}
      {type?.fields["with"] && <Arguments {...given} />}
      {fields.some(([name]) => name === "title") && <OneField {...given} place={["title"]} schema={{ type: "string" }} />}
      {type?.fields["on_error"] && <OneField {...given} place={["on_error"]} schema={type.fields["on_error"]} />}
      <Connections flow={flow} node={node} editing={editing} onInsert={onInsert} />
      {editing && (
        <div className="buttons">
          {node.ports.length > 0 && (
            <>
              <button type="button" onClick={() => onWish("connect")}>
                {say("connect")}
              </button>
              <button type="button" onClick={() => onWish("after")}>
                {say("addAfter")}
              </button>
            </>
          )}
          {node.isContainer && (
            <button type="button" onClick={() => onWish("inside")}>
              {say("addInside")}
            </button>
          )}
          <button type="button" onClick={() => onWish("move")}>
            {say("moveInto")}
          </button>
          <button type="button" onClick={() => onWish("value", target.current)}>
            {say("insertValue")}
          </button>
          <button type="button" onClick={() => onWish("run")}>
            {say("runNode")}
          </button>
          <button type="button" className="quiet" onClick={() => onWish("delete")}>
            {say("delete")}
          </button>
        </div>
      )}
      {state && <Came state={state} />}
    </aside>
  );
}

/** What an import says of this node: a line goes once a person has seen to it. */
function FromImport({ lines, editing }: { lines: readonly KeptLine[]; editing: Editing | undefined }) {
  const say = useText(TEXTS);
  if (!lines.length) return null;
  return (
    <>
      <h3>{say("import")}</h3>
      <ul aria-label={say("import")} className="lines">
        {lines.map((each) => {
          const text = `${each.field}: ${each.message}`;
          return (
            <li key={each.line}>
              <span>
                <strong>{say(`line_${each.status}`)}</strong> {told(text)}
              </span>
              {editing && (
                <button type="button" className="quiet" aria-description={told(text)} onClick={() => editing.change((whole) => withoutLine(whole, each))}>
                  {say("seenTo")}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** What went in and what came out, in the run that is shown. */
function Came({ state }: { state: NodeState }) {
  const say = useText(TEXTS);
  return (
    <>
      {state.error && <Failed error={state.error} />}
      {state.given !== undefined && (
        <section aria-label={say("given")}>
          <h3>{say("given")}</h3>
          <Value value={state.given} />
        </section>
      )}
      {state.came !== undefined && state.came !== null && (
        <section aria-label={say("came")}>
          <h3>{say("came")}</h3>
          <Value value={state.came} />
        </section>
      )}
    </>
  );
}

interface Form {
  node: FlowNode;
  editing: Editing | undefined;
  onTarget: (target: TextTarget) => void;
}

const NAME = /^[A-Za-z_]\w{0,63}$/;

function NameField({ node, editing, onRenamed }: Form & { onRenamed: (path: string) => void }) {
  const say = useText(TEXTS);
  const [typed, setTyped] = useState(node.name);
  const isTaken = editing?.flow?.nodes.some((each) => each.name === typed && each.path !== node.path) ?? false;
  const isBad = !NAME.test(typed) || isTaken;
  function put(): void {
    if (isBad || typed === node.name || !editing) return;
    editing.change((text) => renamed(text, node.path, typed));
    onRenamed(node.path.slice(0, node.path.length - node.name.length) + typed);
  }
  return (
    <label>
      {"name"}
      <input
        data-field="name"
        value={typed}
        readOnly={!editing}
        aria-invalid={isBad}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={put}
        onKeyDown={(event) => event.key === "Enter" && put()}
      />
      {isBad && <span className="warning">{say("badName")}</span>}
    </label>
  );
}

/** A field of the definition, by its name there. */
function OneField(given: Form & { place: string[]; schema: FieldSchema; isRequired?: boolean; note?: string }) {
  const { node, editing, place, schema } = given;
  const name = place.at(-1) ?? "";
  const names = useNames(node.type, place, editing?.flow?.name ?? "");
  let value: unknown = node.value;
  for (const each of place) value = isObject(value) && Object.hasOwn(value, each) ? value[each] : undefined;
  const write = (next: unknown) => editing?.change((text) => withField(text, node.path, place, next), `${node.path} ${place.join(".")}`);
  if (schema.type === "boolean") {
    return (
      <label>
        <input type="checkbox" data-field={name} disabled={!editing} checked={value === true} onChange={(event) => write(event.target.checked)} />
        {told(name)}
      </label>
    );
  }
  if (schema.enum && (value === undefined || schema.enum.includes(value))) {
    return (
      <label>
        {told(name)}
        <select data-field={name} disabled={!editing} value={String(value ?? "")} onChange={(event) => write(event.target.value || undefined)}>
          <option value="" />
          {schema.enum.map((each) => (
            <option key={String(each)}>{String(each)}</option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <TextField
      key={place.join(".")}
      label={name}
      name={name}
      value={value}
      schema={schema}
      isRequired={given.isRequired ?? false}
      isReadOnly={!editing}
      onChange={write}
      onTyping={editing?.typing}
      onTarget={given.onTarget}
      {...(given.note ? { note: given.note } : {})}
      {...(names ? { list: names } : {})}
    />
  );
}

/** The names that a field may have, where there is a list of such; undefined for other fields. A workflow that is made here calls tools, and
 * agents and workflows that are published: those of the settings are called by nobody, and no workflow calls itself. */
function useNames(type: string, place: readonly string[], own: string): string[] | undefined {
  const field = place.length === 1 ? place[0] : undefined;
  const what = field === "tool" ? "tools" : field === "agent" && type === "agent" ? "agents" : field === "workflow" ? "workflows" : undefined;
  const isModel = field === "model";
  const models = useModels(isModel);
  const found = useListed<Tool | Agent | WorkflowLine>(what);
  const workflows = useListed<WorkflowLine>(what === "tools" ? "workflows" : undefined);
  if (isModel) return models.data ?? [];
  if (!what) return undefined;
  const ofSettings = new Set(workflows.data?.items.filter((each) => !each.version).map((each) => each.name));
  const items = found.data?.items ?? [];
  return items.filter((each) => each.name !== own && (what === "tools" ? !ofSettings.has(each.name) : each.version > 0)).map((each) => each.name);
}

function useListed<Line extends { name: string }>(what: string | undefined) {
  return useQuery({
    queryKey: [what ?? "none", "names"],
    queryFn: ({ signal }) => askAll<Line>(`/v1/${what}`, { signal }),
    enabled: what !== undefined,
  });
}

/** The arguments of a call, each as a field: those that the tool declares, and those that are there. */
function Arguments(given: Form) {
  const { node } = given;
  const called = String(node.value["tool"] ?? node.value["workflow"] ?? "");
  const [, name = called, version] = /^([^@]*)@(\d+)$/.exec(called) ?? [];
  const tool = useQuery({
    queryKey: ["tool", called],
    queryFn: ({ signal }) =>
      ask<ToolSchema>("GET", `/v1/tools/${encodeURIComponent(name)}`, { signal, ...(version && node.value["tool"] ? { query: { version } } : {}) }).catch(orNull),
    enabled: called !== "",
  });
  const schema = tool.data?.parameters as { properties?: Record<string, FieldSchema & { description?: string }>; required?: string[] } | undefined;
  const written = isObject(node.value["with"]) ? node.value["with"] : {};
  const names = [...new Set([...Object.keys(schema?.properties ?? {}), ...Object.keys(written)])];
  if (!names.length && (tool.isLoading || (node.value["tool"] !== undefined && tool.isSuccess))) return null;
  if (!names.length) return <OneField {...given} place={["with"]} schema={{ type: "object" }} />;
  return names.map((name) => {
    const declared = schema?.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    return <OneField key={name} {...given} place={["with", name]} schema={{}} isRequired={schema?.required?.includes(name) ?? false} note={declared?.description ?? ""} />;
  });
}

function Connections({ flow, node, editing, onInsert }: { flow: Flow; node: FlowNode; editing: Editing | undefined; onInsert: (edge: FlowEdge) => void }) {
  const say = useText(TEXTS);
  const lead = flow.edges.filter((each) => each.target === node.path);
  const go = flow.edges.filter((each) => each.source === node.path);
  const ports = new Map(flow.nodes.map((each) => [each.path, each.ports]));
  const isNamed = (edge: FlowEdge) => (ports.get(edge.source)?.length ?? 0) > 1;
  const from = (edge: FlowEdge) => say(isNamed(edge) ? "fromPort" : "from", { name: told(nameOf(edge.source)), port: told(edge.port) });
  const to = (edge: FlowEdge) => say(isNamed(edge) ? "toPort" : "to", { name: told(nameOf(edge.target)), port: told(edge.port) });
  const lines = [...lead.map((edge) => ({ edge, text: from(edge) })), ...go.map((edge) => ({ edge, text: to(edge) }))];
  return (
    <>
      <h3>{say("connections")}</h3>
      {lines.length === 0 && <p className="hint">{say("noConnections")}</p>}
      <ul aria-label={say("connections")} className="lines">
        {lines.map(({ edge, text }) => (
          <li key={`${edge.index} ${text}`}>
            <span>{text}</span>
            {editing && (
              <span>
                <button type="button" className="quiet" aria-description={text} onClick={() => onInsert(edge)}>
                  {say("insertOn")}
                </button>
                <button type="button" className="quiet" aria-description={text} onClick={() => editing.change((whole) => withoutEdge(whole, edge))}>
                  {say("disconnect")}
                </button>
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
