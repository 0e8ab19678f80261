// Where nodes are drawn: as the text says, and in layers where it says nothing.
import { Graph, layout } from "@dagrejs/dagre";

import type { Flow, FlowNode, Place } from "./document";

export const WIDTH = 200;
export const HEIGHT = 64;
const HEAD = 48;
const PADDING = 20;
const BETWEEN = 64;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The box of each node, within its container. `isTidy`: whatever the text says. */
export function boxes(flow: Flow, isTidy = false): Map<string, Box> {
  const found = new Map<string, Box>();
  const inside = new Map<string, FlowNode[]>();
  for (const each of flow.nodes) inside.set(each.parent, [...(inside.get(each.parent) ?? []), each]);
  place(flow, "", inside, found, isTidy);
  return found;
}

/** Places the nodes of one container, the inner containers first; says how large the container is. */
function place(flow: Flow, parent: string, inside: ReadonlyMap<string, FlowNode[]>, found: Map<string, Box>, isTidy: boolean): Box {
  const nodes = inside.get(parent) ?? [];
  const sizes = new Map(nodes.map((each) => [each.path, each.isContainer ? place(flow, each.path, inside, found, isTidy) : { width: WIDTH, height: heightOf(each) }]));
  const said = isTidy ? [] : nodes.map((each) => [each.path, placeIn(flow, each.path)] as const).filter(([, at]) => at);
  const given = new Map(said.length > 1 && new Set(said.map(([, at]) => String(at))).size === 1 ? [] : said); // one place for all says nothing
  const laid = given.size < nodes.length ? layered(flow, parent, nodes, sizes) : new Map<string, Place>();
  const below = given.size ? Math.max(...[...given].map(([path, at]) => (at?.[1] ?? 0) + (sizes.get(path)?.height ?? 0))) + BETWEEN : 0;
  let [right, bottom] = [WIDTH, 0];
  for (const each of nodes) {
    const { width, height } = sizes.get(each.path) ?? { width: WIDTH, height: HEIGHT };
    const [x, y] = given.get(each.path) ?? [laid.get(each.path)?.[0] ?? 0, (laid.get(each.path)?.[1] ?? 0) + below];
    found.set(each.path, parent ? { x: Math.max(0, x) + PADDING, y: Math.max(0, y) + HEAD, width, height } : { x, y, width, height });
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
  }
  return { x: 0, y: 0, width: right + 2 * PADDING, height: HEAD + Math.max(HEIGHT / 2, bottom) + PADDING };
}

/** A note is as high as its text. */
function heightOf({ type, value }: FlowNode): number {
  const lines = type === "note" ? String(value["text"] ?? "").split("\n").flatMap((each) => Array(Math.max(1, Math.ceil([...each].length / 24)))).length : 0;
  return Math.max(HEIGHT, 24 + 20 * Math.min(lines, 12));
}

/** Where a box is, as the text says it: without what the container adds. */
export function placeOf(parent: string, x: number, y: number): Place {
  return parent ? [Math.max(0, x - PADDING), Math.max(0, y - HEAD)] : [x, y];
}

function placeIn(flow: Flow, path: string): Place | undefined {
  const at = Object.hasOwn(flow.view, path) ? flow.view[path] : undefined;
  return Array.isArray(at) && at.length === 2 && at.every((each) => typeof each === "number" && Number.isFinite(each)) ? (at as unknown as Place) : undefined;
}

function layered(flow: Flow, parent: string, nodes: readonly FlowNode[], sizes: ReadonlyMap<string, { width: number; height: number }>): Map<string, Place> {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 28, ranksep: BETWEEN });
  graph.setDefaultEdgeLabel(() => ({}));
  const numbers = new Map(nodes.map((each, number) => [each.path, String(number)])); // the library does not take every name
  for (const each of nodes) graph.setNode(numbers.get(each.path) ?? "", { ...(sizes.get(each.path) ?? { width: WIDTH, height: HEIGHT }) });
  for (const each of flow.edges) if (each.parent === parent) graph.setEdge(numbers.get(each.source) ?? "", numbers.get(each.target) ?? "");
  layout(graph);
  const found = new Map<string, Place>(
    nodes.map((each) => {
      const { x, y, width, height } = graph.node(numbers.get(each.path) ?? "") as Box;
      return [each.path, [Math.round(x - width / 2), Math.round(y - height / 2)] as const];
    }),
  );
  for (const each of nodes) if (each.ports.length > 1) inOrder(flow, each, found, sizes);
  return found;
}

/** What comes behind one node alone stands in the order of its ports, so that its edges do not cross. */
function inOrder(flow: Flow, node: FlowNode, found: Map<string, Place>, sizes: ReadonlyMap<string, { height: number }>): void {
  const own = flow.edges.filter((each) => each.source === node.path);
  const targets = [...new Set(node.ports.flatMap((port) => own.filter((each) => each.port === port).map((each) => each.target)))];
  const alone = targets.filter((path) => flow.edges.filter((each) => each.target === path).length === 1 && sizes.get(path)?.height === HEIGHT);
  const places = alone.map((path) => found.get(path) ?? ([0, 0] as const));
  if (new Set(places.map(([x]) => x)).size !== 1) return;
  const heights = places.map(([, y]) => y).sort((one, other) => one - other);
  for (const [at, path] of alone.entries()) found.set(path, [places[at]?.[0] ?? 0, heights[at] ?? 0]);
}

