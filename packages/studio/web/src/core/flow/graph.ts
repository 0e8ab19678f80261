// Which edges are legal, and what a node may speak of.
import { type Flow, type FlowNode, isIn } from "./document";
import { typeOf } from "./types";

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

/** The values that a node may read, as an expression names them: inputs, and what is upstream, outside too. */
export function values(flow: Flow, path: string): string[] {
  const found: string[] = Object.keys(isRecord(flow.inputs["properties"]) ? flow.inputs["properties"] : {}).map((each) => `inputs.${each}`);
  const inside: string[] = [];
  for (let at = path; at; at = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) : "") {
    const before = upstream(flow, at);
    for (const each of flow.nodes) if (before.has(each.path)) found.push(...given(each).map((field) => `${each.name}.${field}`));
    const holder = flow.nodes.find((each) => each.path === at.slice(0, Math.max(0, at.lastIndexOf("/"))));
    if (holder?.type === "each") inside.push("item", "index");
    else if (holder) inside.push("index");
  }
  return [...new Set([...found, ...inside])];
}

function given(node: FlowNode): string[] {
  if (node.type === "merge") return Object.keys(isRecord(node.value["groups"]) ? node.value["groups"] : {});
  return typeOf(node.type)?.gives ?? [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
