// Which edges are legal, and what a node may speak of.
import { type Flow, type FlowNode, isIn, parentOf } from "./document";
import { isObject, typeOf } from "./types";

/** The nodes to which an edge may lead: of the same container, no note, no cycle, not yet joined by this port. */
export function legalTargets(flow: Flow, source: string, port: string): FlowNode[] {
  const from = flow.nodes.find((each) => each.path === source);
  if (!from || !from.ports.includes(port)) return [];
  const before = upstream(flow, source);
  const joined = new Set(flow.edges.filter((each) => each.source === source && each.port === port).map((each) => each.target));
  return flow.nodes.filter(
    (each) => each.parent === from.parent && each.path !== source && each.type !== "note" && !before.has(each.path) && !joined.has(each.path),
  );
}

/** The containers into which a node may move; an empty path for the workflow itself. */
export function legalContainers(flow: Flow, path: string): string[] {
  const node = flow.nodes.find((each) => each.path === path);
  if (!node) return [];
  const isBound = node.type === "break" || node.type === "continue";
  const found = flow.nodes.filter((each) => each.isContainer && !isIn(each.path, path)).map((each) => each.path);
  return [...(isBound ? [] : [""]), ...found].filter((each) => each !== node.parent);
}

/** The nodes of the same container that come before a node. */
export function upstream(flow: Flow, path: string): Set<string> {
  const found = new Set<string>();
  const into = new Map<string, string[]>();
  for (const each of flow.edges) into.set(each.target, [...(into.get(each.target) ?? []), each.source]);
  const left = [path];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    for (const source of into.get(each) ?? []) {
      if (!found.has(source)) {
        found.add(source);
        left.push(source);
      }
    }
  }
  return found;
}

export interface Value {
  /** As an expression names it: `find.output`. */
  value: string;
  /** A type of JSON; empty where it is not known. */
  type: string;
}

/**
 * The values that a node may read: inputs, and what is upstream, outside too. `outputs`: the JSON Schema of what a node
 * gives, by path, as `check` tells it.
 */
export function values(flow: Flow, path: string, outputs: ReadonlyMap<string, unknown> = new Map()): Value[] {
  const found: Value[] = fieldsOf("inputs", flow.inputs);
  const inside: Value[] = [];
  for (let at = path; at; at = parentOf(at)) {
    const before = upstream(flow, at);
    for (const each of flow.nodes) {
      if (!before.has(each.path)) continue;
      const known = new Map(fieldsOf(each.name, outputs.get(each.path)).map((value) => [value.value, value]));
      for (const field of given(each)) {
        const value = `${each.name}.${field}`;
        found.push(known.get(value) ?? { value, type: "" });
        found.push(...[...known.values()].filter((other) => other.value.startsWith(`${value}.`)));
      }
    }
    const holder = flow.nodes.find((each) => each.path === parentOf(at));
    if (holder?.type === "each") inside.push({ value: "item", type: "" });
    if (holder) inside.push({ value: "index", type: "integer" });
  }
  return [...new Map([...found, ...inside].map((each) => [each.value, each])).values()];
}

/** The fields of an object of this schema, two levels deep. */
function fieldsOf(name: string, schema: unknown, depth = 2): Value[] {
  const properties = isObject(schema) && isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return properties.flatMap(([field, each]) => {
    const value = `${name}.${field}`;
    return [{ value, type: isObject(each) ? [each["type"] ?? []].flat().join(" | ") : "" }, ...(depth > 1 && PLAIN.test(field) ? fieldsOf(value, each, depth - 1) : [])];
  }).filter((each) => PLAIN.test(each.value.slice(name.length + 1)));
}

const PLAIN = /^[A-Za-z_][\w.]*$/;

function given(node: FlowNode): string[] {
  if (node.type === "merge") return Object.keys(isObject(node.value["groups"]) ? node.value["groups"] : {});
  return typeOf(node.type)?.gives ?? [];
}
