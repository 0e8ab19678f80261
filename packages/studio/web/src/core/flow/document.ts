// A workflow as its text says it: read into nodes and edges, and changed by edits of the text, so that the comments and
// the order of whoever wrote the text stay. Names are paths: `trips/price` is the node `price` in the container `trips`.
import { type Document, isMap, isPair, isScalar, isSeq, parse, parseDocument, type Pair, type YAMLMap } from "yaml";

import { type Fields, isObject, portInEdge, portOfEdge, portsOf, typeOf } from "./types";

export interface FlowNode {
  path: string;
  name: string;
  /** The path of the container; empty for a node of the workflow itself. */
  parent: string;
  type: string;
  value: Fields;
  ports: string[];
  isContainer: boolean;
}

export interface FlowEdge {
  /** The path of the container that holds both ends. */
  parent: string;
  /** The place in the list of edges. */
  index: number;
  source: string;
  port: string;
  target: string;
}

export interface Flow {
  name: string;
  inputs: Fields;
  /** In the order of the text, each container before the nodes inside. */
  nodes: FlowNode[];
  edges: FlowEdge[];
  view: Fields;
}

/** The most characters and nodes that are drawn; a larger text is edited as text. */
export const CHARS_MAX = 400_000;
export const NODES_MAX = 1_000;
/** A text that says `type:` more often is not even read, which would take a second. */
const TYPES_MAX = 4 * NODES_MAX;
const EDGE = /^\s*([^.>\s]+)(?:\.([\w-]+))?\s*>\s*(\S+)\s*$/;

/** What a text says; undefined where it can not be drawn. */
export function flowOf(text: string): Flow | undefined {
  const found = opened(text);
  return typeof found === "string" ? undefined : found.flow;
}

/** Why a text can not be drawn: it can not be read, an alias stands for another place of it, or it is too large. */
export type NotDrawn = "unread" | "aliases" | "large";

export function whyNotDrawn(text: string): NotDrawn | undefined {
  const found = opened(text);
  return typeof found === "string" ? found : undefined;
}

interface Opened {
  document: Document;
  flow: Flow;
}

let latest: { text: string; opened: Opened | NotDrawn } | undefined;

/** The text, read: the last one is kept, since a page asks for it several times. */
function opened(text: string): Opened | NotDrawn {
  if (latest?.text !== text) latest = { text, opened: read(text) };
  return latest.opened;
}

function read(text: string): Opened | NotDrawn {
  if (text.length > CHARS_MAX || (text.match(/\btype["']?:/g)?.length ?? 0) > TYPES_MAX) return "large";
  const document = parseDocument(text);
  if (document.errors.length) return "unread";
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 });
  } catch {
    return "aliases"; // an edit of a node would change another one as well
  }
  if (!isObject(value)) return "unread";
  const nodes: FlowNode[] = [];
  const edges: FlowEdge[] = [];
  collect(value, "", nodes, edges);
  if (nodes.length > NODES_MAX) return "large";
  const { name, inputs, view } = value;
  return {
    document,
    flow: { name: String(name ?? ""), inputs: isObject(inputs) ? inputs : {}, nodes, edges, view: isObject(view) ? view : {} },
  };
}

function collect(graph: Fields, parent: string, nodes: FlowNode[], edges: FlowEdge[]): void {
  if (nodes.length > NODES_MAX) return;
  const inside = isObject(graph["nodes"]) ? Object.entries(graph["nodes"]) : [];
  const ports = new Map<string, string[]>();
  for (const [name, given] of inside) {
    const value = isObject(given) ? given : {};
    const type = String(value["type"] ?? "");
    const isContainer = typeOf(type)?.isContainer ?? false;
    const path = within(parent, name);
    const own = portsOf(value);
    ports.set(name, own);
    nodes.push({ path, name, parent, type, value, ports: own, isContainer });
    if (isContainer) collect(value, path, nodes, edges);
  }
  const written = Array.isArray(graph["edges"]) ? graph["edges"] : [];
  for (const [index, each] of written.entries()) {
    const found = EDGE.exec(String(each));
    const [, source = "", port = "", target = ""] = found ?? [];
    if (!ports.has(source) || !ports.has(target)) continue; // `check` says what is wrong with it
    edges.push({
      parent,
      index,
      source: within(parent, source),
      port: portOfEdge(ports.get(source) ?? [], port),
      target: within(parent, target),
    });
  }
}

export function within(parent: string, name: string): string {
  return parent ? `${parent}/${name}` : name;
}

/** Where a node stands in the document. */
export function keys(path: string): string[] {
  return path ? path.split("/").flatMap((name) => ["nodes", name]) : [];
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** A name that no node has yet. */
export function freeName(flow: Pick<Flow, "nodes">, wanted: string): string {
  const taken = new Set(flow.nodes.map((each) => each.name));
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}_${number}`;
  return name;
}

// Edits: each takes a text and gives the text that it becomes -----------------------------------------------------------

/** The text behind an edit of its document. A text that can not be read stays as it is. */
function edited(text: string, edit: (document: Document, flow: Flow) => void): string {
  const found = read(text); // a document of its own: an edit changes it
  if (typeof found === "string") return text;
  edit(found.document, found.flow);
  return found.document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

export interface From {
  source: string;
  port: string;
}

/** A new node; `from`: what leads to it; `at`: where it is drawn. */
export function withNode(text: string, parent: string, name: string, value: Fields, more: { from?: From; at?: Place } = {}): string {
  return edited(text, (document, flow) => {
    mapAt(document, [...keys(parent), "nodes"]).set(document.createNode(name), document.createNode(value));
    if (more.from) putEdge(document, flow, parent, more.from, name);
    if (more.at) putPlace(document, within(parent, name), more.at);
  });
}

/** The text without these nodes, their edges and their places. */
export function withoutNodes(text: string, paths: readonly string[]): string {
  return edited(text, (document, flow) => {
    for (const path of paths) {
      dropEdges(document, flow, path);
      document.deleteIn(keys(path));
      for (const each of Object.keys(flow.view)) if (isIn(each, path)) document.deleteIn(["view", each]);
      flow = reread(document);
    }
  });
}

export function withEdge(text: string, parent: string, from: From, target: string): string {
  return edited(text, (document, flow) => putEdge(document, flow, parent, from, nameOf(target)));
}

export function withoutEdge(text: string, edge: FlowEdge): string {
  return edited(text, (document) => document.deleteIn([...keys(edge.parent), "edges", edge.index]));
}

/** A new node between the ends of an edge. */
export function withNodeOn(text: string, edge: FlowEdge, name: string, value: Fields, at?: Place): string {
  return edited(text, (document, flow) => {
    mapAt(document, [...keys(edge.parent), "nodes"]).set(document.createNode(name), document.createNode(value));
    document.deleteIn([...keys(edge.parent), "edges", edge.index]);
    putEdge(document, flow, edge.parent, edge, name);
    const ports = portsOf(value);
    if (ports[0]) putEdgeText(document, edge.parent, name, portInEdge(ports, ports[0]), nameOf(edge.target));
    if (at) putPlace(document, within(edge.parent, name), at);
  });
}

/** A field of a node; undefined takes it out. `field` may lead further in: `["with", "to"]`. */
export function withField(text: string, path: string, field: readonly string[], value: unknown): string {
  return edited(text, (document) => {
    const place = [...keys(path), ...field];
    if (value === undefined) document.deleteIn(place);
    else if (field.length > 1) mapAt(document, place.slice(0, -1)).set(field.at(-1), document.createNode(value));
    else document.setIn(place, typeof value === "object" ? document.createNode(value) : value);
  });
}

/** The text with another name of a node, also where edges and expressions speak of it. */
export function renamed(text: string, path: string, name: string): string {
  const before = nameOf(path);
  return edited(text, (document, flow) => {
    if (flow.nodes.some((each) => each.path === within(parentOf(path), name))) return;
    const pair = pairAt(document, path);
    if (!pair) return;
    if (isScalar(pair.key)) pair.key.value = name;
    else pair.key = document.createNode(name);
    for (const each of flow.edges) {
      if (each.source !== path && each.target !== path) continue;
      const ports = flow.nodes.find((node) => node.path === each.source)?.ports ?? [];
      const ends = [each.source, each.target].map((end) => (end === path ? name : nameOf(end))) as [string, string];
      document.setIn([...keys(each.parent), "edges", each.index], edgeText(ends[0], portInEdge(ports, each.port), ends[1]));
    }
    for (const each of Object.keys(flow.view)) {
      if (!isIn(each, path)) continue;
      document.setIn(["view", within(parentOf(path), name) + each.slice(path.length)], document.getIn(["view", each]));
      document.deleteIn(["view", each]);
    }
    respeak(document, before, name);
    for (const each of [document, document.contents, isMap(document.contents) ? document.contents.items[0]?.key : null]) {
      if (hasComment(each)) each.commentBefore = each.commentBefore.replaceAll(` at ${before}, `, ` at ${name}, `); // the report of an import
    }
  });
}

/** The text with another name of the workflow. */
export function called(text: string, name: string): string {
  return flowOf(text)?.name === name ? text : edited(text, (document) => document.set("name", name));
}

/** The node in another container, or outside of all for an empty path. Its edges, which would cross a border, go. */
export function moved(text: string, path: string, into: string): string {
  return edited(text, (document, flow) => {
    const pair = pairAt(document, path);
    if (!pair || isIn(into, path)) return;
    dropEdges(document, flow, path);
    document.deleteIn(keys(path));
    mapAt(document, [...keys(into), "nodes"]).add(pair);
    for (const each of Object.keys(flow.view)) if (isIn(each, path)) document.deleteIn(["view", each]);
  });
}

export type Place = readonly [number, number];

export function withPlaces(text: string, places: ReadonlyMap<string, Place>): string {
  return edited(text, (document) => {
    for (const [path, place] of places) putPlace(document, path, place);
  });
}

/** Nodes as a text that can be pasted, and the edges between them. */
export function copied(flow: Flow, paths: readonly string[]): string {
  const chosen = flow.nodes.filter((each) => paths.includes(each.path) && !paths.some((other) => other !== each.path && isIn(each.path, other)));
  const edges = flow.edges.filter((each) => paths.includes(each.source) && paths.includes(each.target));
  const ports = new Map(chosen.map((each) => [each.path, each.ports]));
  return JSON.stringify(
    {
      actum: "nodes/1",
      nodes: Object.fromEntries(chosen.map((each) => [each.name, each.value])),
      edges: edges.map((each) => edgeText(nameOf(each.source), portInEdge(ports.get(each.source) ?? [], each.port), nameOf(each.target))),
    },
    null,
    2,
  );
}

/** The text with nodes that were copied, and the names that they have now; undefined where the clipboard has something else. */
export function pasted(text: string, parent: string, clipboard: string): { text: string; names: string[] } | undefined {
  const [flow, given] = [flowOf(text), json(clipboard)];
  const fragment = flowOf(clipboard);
  if (!flow || !fragment?.nodes.length || !isObject(given) || given["actum"] !== "nodes/1") return undefined;
  if (!fragment.nodes.every((each) => /^[A-Za-z_]\w{0,63}$/.test(each.name))) return undefined;
  const taken = new Set(flow.nodes.map((each) => each.name));
  let copy = clipboard;
  for (const _ of fragment.nodes) {
    const found = flowOf(copy);
    const now = found?.nodes.find((other) => taken.has(other.name)); // one after the other: the paths of those inside change
    if (found && now) copy = renamed(copy, now.path, freeName({ nodes: [...flow.nodes, ...found.nodes] }, now.name));
  }
  const renewed: unknown = parse(copy);
  const nodes = isObject(renewed) && isObject(renewed["nodes"]) ? Object.entries(renewed["nodes"]) : [];
  const edges = isObject(renewed) && Array.isArray(renewed["edges"]) ? renewed["edges"].map(String) : [];
  const names = nodes.map(([name]) => name);
  const next = edited(text, (document) => {
    for (const [name, value] of nodes) mapAt(document, [...keys(parent), "nodes"]).set(document.createNode(name), document.createNode(value));
    for (const each of edges) {
      const [, source = "", port = "", target = ""] = EDGE.exec(each) ?? [];
      if (names.includes(source) && names.includes(target)) putEdgeText(document, parent, source, port, target);
    }
  });
  return { text: next, names };
}

// What the edits are made of --------------------------------------------------------------------------------------------

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a path is that of a node, or of one inside of it. */
export function isIn(path: string, of: string): boolean {
  return path === of || path.startsWith(`${of}/`);
}

function reread(document: Document): Flow {
  const nodes: FlowNode[] = [];
  const edges: FlowEdge[] = [];
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  if (isObject(value)) collect(value, "", nodes, edges);
  const view = isObject(value) && isObject(value["view"]) ? value["view"] : {};
  return { name: "", inputs: {}, nodes, edges, view };
}

/** The map at a place, made where there is none. */
function mapAt(document: Document, place: readonly unknown[]): YAMLMap {
  const found = document.getIn(place);
  if (isMap(found)) {
    if (!found.items.length) found.flow = false; // `nodes: {}`: what comes in gets lines of its own
    return found;
  }
  const made = document.createNode({}) as YAMLMap;
  document.setIn(place, made);
  return made;
}

function pairAt(document: Document, path: string): Pair | undefined {
  const map = document.getIn([...keys(parentOf(path)), "nodes"]);
  const pairs = isMap(map) ? map.items : [];
  return pairs.find((each) => isPair(each) && String(isScalar(each.key) ? each.key.value : each.key) === nameOf(path)) as Pair | undefined;
}

function edgeText(source: string, port: string, target: string): string {
  return `${source}${port && `.${port}`} > ${target}`;
}

function putEdge(document: Document, flow: Flow, parent: string, from: From, target: string): void {
  const ports = flow.nodes.find((each) => each.path === from.source)?.ports ?? [];
  putEdgeText(document, parent, nameOf(from.source), portInEdge(ports, from.port), target);
}

function putEdgeText(document: Document, parent: string, source: string, port: string, target: string): void {
  const place = [...keys(parent), "edges"];
  const text = edgeText(source, port, target);
  const found = document.getIn(place);
  if (!isSeq(found)) document.setIn(place, document.createNode([text], { flow: true }));
  else if (!found.items.some((each) => String(isScalar(each) ? each.value : each) === text)) document.addIn(place, text);
}

function dropEdges(document: Document, flow: Flow, path: string): void {
  const gone = flow.edges.filter((each) => each.source === path || each.target === path);
  for (const each of gone.sort((one, other) => other.index - one.index)) document.deleteIn([...keys(each.parent), "edges", each.index]);
}

function putPlace(document: Document, path: string, place: Place): void {
  mapAt(document, ["view"]).set(path, document.createNode(place.map(Math.round), { flow: true }));
}

function hasComment(node: unknown): node is { commentBefore: string } {
  return isObject(node) && typeof node["commentBefore"] === "string";
}

const CONDITIONS = new Set(["cel", "when", "where", "until", "by"]);

/** Expressions that speak of a node, with its new name. */
function respeak(document: Document, before: string, name: string): void {
  const spoken = new RegExp(`(?<![\\w.])${before.replace(/[^\w]/g, "\\$&")}(?=\\s*[.?[}|])`, "g");
  const visit = (node: unknown, isCondition: boolean): void => {
    if (isScalar(node) && typeof node.value === "string") {
      node.value = isCondition
        ? node.value.replace(spoken, name)
        : node.value.replace(/\$\{[^}]*\}/g, (each) => each.replace(spoken, name));
    } else if (isMap(node)) {
      for (const { key, value } of node.items) visit(value, CONDITIONS.has(String(isScalar(key) ? key.value : key)));
    } else if (isSeq(node)) {
      for (const each of node.items) visit(each, isCondition);
    }
  };
  visit(document.contents, false);
}
