// What the page asks in a dialog: which node to add, where an edge leads, which value, and how a run begins.
import { type Flow, type FlowEdge, freeName, type From, moved, type Place, withEdge, within, withNode, withNodeOn } from "../../core/flow/document";
import { legalContainers, legalTargets, values } from "../../core/flow/graph";
import { isObject, newNode } from "../../core/flow/types";
import { useText } from "../../core/language";
import { brief } from "../../core/shown";
import type { Writing } from "../../parts/draft";
import type { FormSchema, Values } from "../../parts/form";
import { AddNode, Choose } from "./dialogs";
import type { Editing } from "./editing";
import type { TextTarget } from "./fields";
import { TEXTS } from "./texts";
import { type Shown, StartRun } from "./trial";

export type Asking =
  | { what: "add"; parent: string; from?: From; at?: Place; edge?: FlowEdge }
  | { what: "connect" | "move"; path: string }
  | { what: "value"; path: string; target: TextTarget }
  | { what: "run"; only: string };

interface AskedOf {
  asking: Asking;
  flow: Flow;
  editing: Editing;
  path: string;
  draft: Writing;
  states: Shown["states"];
  /** The JSON Schema of what a node gives, by path. */
  outputs: ReadonlyMap<string, unknown>;
  onChoose: (path: string) => void;
  onBegun: (run: string, only: string) => void;
  onClose: () => void;
}

/** The dialog that is open. */
export default function Asked({ asking, flow, editing, path, draft, states, outputs, onChoose, onBegun, onClose }: AskedOf) {
  const say = useText(TEXTS);
  if (asking.what === "run") {
    const { only } = asking;
    const given = only ? { ...flow.inputs, required: [] } : flow.inputs;
    return (
      <StartRun path={path} draft={draft} inputs={given as FormSchema} only={only} pins={only ? pinsFor(flow, only, states) : {}} onBegun={(run) => onBegun(run, only)} onClose={onClose} />
    );
  }
  if (asking.what === "add") {
    const add = (type: string) => {
      const name = freeName(flow, type);
      const { parent, edge, from, at } = asking;
      editing.change((text) => (edge ? withNodeOn(text, edge, name, newNode(type)) : withNode(text, parent, name, newNode(type), { ...(from ? { from } : {}), ...(at ? { at } : {}) })));
      onChoose(within(parent, name));
      onClose();
    };
    return <AddNode isInside={asking.parent !== ""} onChoose={add} onClose={onClose} />;
  }
  if (asking.what === "value") {
    const options = values(flow, asking.path, outputs).map(({ value, type }) => ({ value, label: value, note: [type, lastValue(value, flow, states)].filter(Boolean).join(" · ") }));
    return (
      <Choose
        title={say("insertValue")}
        search={say("insertValue")}
        none={say("noValues")}
        options={options}
        onChoose={(value) => {
          onClose();
          requestAnimationFrame(() => asking.target.insert(`\${${value}}`));
        }}
        onClose={onClose}
      />
    );
  }
  const node = flow.nodes.find((each) => each.path === asking.path);
  if (!node) return null;
  if (asking.what === "move") {
    const move = (into: string) => {
      editing.change((text) => moved(text, node.path, into));
      onChoose(within(into, node.name));
      onClose();
    };
    const options = legalContainers(flow, node.path).map((each) => ({ value: each, label: each || say("outside") }));
    return <Choose title={say("moveInto")} search={say("searchNodes")} none={say("noContainers")} options={options} onChoose={move} onClose={onClose} />;
  }
  const options = node.ports.flatMap((port) =>
    legalTargets(flow, node.path, port).map((each) => ({
      value: JSON.stringify([port, each.path]),
      label: node.ports.length > 1 ? say("toPort", { port, name: each.name }) : each.name,
    })),
  );
  return (
    <Choose
      title={say("connect")}
      search={say("searchNodes")}
      none={say("noTargets")}
      options={options}
      onChoose={(value) => {
        const [port, target] = JSON.parse(value) as [string, string];
        editing.change((text) => withEdge(text, node.parent, { source: node.path, port }, target));
        onClose();
      }}
      onClose={onClose}
    />
  );
}

/** What a value was in the run that is shown. */
function lastValue(value: string, flow: Flow, states: Shown["states"]): string {
  const [name, field = "", ...deeper] = value.split(".");
  const node = flow.nodes.find((each) => each.name === name);
  const came = node ? states.get(node.path)?.came : undefined;
  let found = isObject(came) && Object.hasOwn(came, field) ? came[field] : field === "output" ? came : undefined;
  for (const each of deeper) found = isObject(found) && Object.hasOwn(found, each) ? found[each] : undefined;
  return found === undefined || found === null ? "" : brief(found, 80);
}

/** The beginning of the pins: what the nodes before gave in the run that is shown, and null where they gave nothing. */
function pinsFor(flow: Flow, path: string, states: Shown["states"]): Values {
  const spoken = JSON.stringify(flow.nodes.find((each) => each.path === path)?.value ?? {});
  const found = new Map<string, Map<string, unknown>>();
  for (const { value } of values(flow, path)) {
    const [name = "", field = ""] = value.split(".");
    if (name === "inputs" || !new RegExp(`\\b${name}\\b`).test(spoken) || (field && !spoken.includes(value))) continue;
    const node = flow.nodes.find((each) => each.name === name);
    const came = node ? states.get(node.path)?.came : null;
    const known = isObject(came) && Object.hasOwn(came, field) ? came[field] : came;
    found.set(name, (found.get(name) ?? new Map<string, unknown>()).set(field, known ?? null));
  }
  return Object.fromEntries([...found].map(([name, fields]) => [name, fields.has("") ? fields.get("") : Object.fromEntries(fields)]));
}
