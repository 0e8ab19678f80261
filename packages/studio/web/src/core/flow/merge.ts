// Two texts that were made of one: changes of different nodes come together, in the text of this person.
import { type Document, isMap, isScalar, isSeq, parseDocument, stringify } from "yaml";

import { type Fields, isObject } from "./types";

const OWN = new Set(["nodes", "edges", "view"]);

/** Whose change counts where both changed the same. */
export type Side = "mine" | "theirs";

/** A node or field that both changed, each in another way; empty where it is gone. */
export interface Conflict {
  place: string;
  mine: string;
  theirs: string;
}

interface Read {
  document: Document;
  value: Fields;
}

/**
 * The text with the changes of both; undefined where a text can't be read, or where both changed the same node or field
 * and nobody says whose change counts.
 */
export function merged(base: string, mine: string, theirs: string, side?: Side): string | undefined {
  if (mine === base || mine === theirs) return theirs;
  const [before, own, other] = [base, mine, theirs].map(read);
  if (!before || !own || !other) return undefined;
  const found = placesOf([before, own, other]);
  for (const place of found.places) {
    const [was, is, comes] = [before, own, other].map((each) => said(each, place));
    if (comes === was || comes === is) continue;
    if (is === was || side === "theirs") take(own.document, other.document, place);
    else if (!side && place[0] !== "view") return undefined;
  }
  for (const graph of found.graphs) {
    const place = [...graph, "edges"];
    const [first, last] = [before, other].map((each) => texts(at(each.value, place)));
    for (const edge of first?.filter((each) => !last?.includes(each)) ?? []) dropEdge(own.document, place, edge);
    for (const edge of last?.filter((each) => !first?.includes(each)) ?? []) addEdge(own.document, place, edge);
  }
  return own.document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** What both changed; undefined where a text can't be read. */
export function conflicts(base: string, mine: string, theirs: string): Conflict[] | undefined {
  const [before, own, other] = [base, mine, theirs].map(read);
  if (!before || !own || !other) return undefined;
  const found: Conflict[] = [];
  for (const place of placesOf([before, own, other]).places) {
    const [was, is, comes] = [before, own, other].map((each) => said(each, place));
    if (comes === was || comes === is || is === was || place[0] === "view") continue;
    const [mine, theirs] = [is, comes].map((each) => (each === undefined ? "" : stringify(JSON.parse(each), { lineWidth: 0 })));
    found.push({ place: place.filter((each, at) => at % 2 || each !== "nodes").join("/"), mine: mine ?? "", theirs: theirs ?? "" });
  }
  return found;
}

function read(text: string): Read | undefined {
  const document = parseDocument(text);
  if (document.errors.length) return undefined;
  try {
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    return isObject(value) ? { document, value } : undefined;
  } catch {
    return undefined;
  }
}

/** The fields of these texts, each node and place in them, and the containers that all of them have. */
function placesOf(texts: readonly Read[]): { places: string[][]; graphs: string[][] } {
  const names = (place: readonly string[]) => [...new Set(texts.flatMap(({ value }) => Object.keys(map(at(value, place)))))];
  const places = names([]).filter((each) => !OWN.has(each)).map((each) => [each]);
  const graphs: string[][] = [[]];
  for (const graph of graphs) {
    for (const name of names([...graph, "nodes"])) {
      const node = [...graph, "nodes", name];
      if (!texts.every(({ value }) => isObject(at(value, [...node, "nodes"])))) places.push(node);
      else {
        graphs.push(node); // which is come to in turn
        places.push(...names(node).filter((each) => each !== "nodes" && each !== "edges").map((each) => [...node, each]));
      }
    }
  }
  return { places: [...places, ...names(["view"]).map((each) => ["view", each])], graphs };
}

/** What stands at a place; undefined for nothing. */
function at(value: unknown, place: readonly string[]): unknown {
  return place.reduce((found, each) => (Object.hasOwn(map(found), each) ? map(found)[each] : undefined), value);
}

/** The same of a text, as JSON. */
function said({ value }: Read, place: readonly string[]): string | undefined {
  const found = at(value, place);
  return found === undefined ? undefined : JSON.stringify(found);
}

function map(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Takes over what another text says at a place. */
function take(own: Document, other: Document, place: string[]): void {
  if (!other.hasIn(place)) own.deleteIn(place);
  else if (isMap(own.getIn(place.slice(0, -1), true)) || place.length === 1) own.setIn(place, other.getIn(place, true));
  else own.setIn(place.slice(0, -1), other.getIn(place.slice(0, -1), true));
}

function edges(document: Document, place: readonly string[]): string[] {
  const found = document.getIn(place);
  return isSeq(found) ? found.items.map((each) => String(isScalar(each) ? each.value : each)) : [];
}

function dropEdge(document: Document, place: readonly string[], edge: string): void {
  const found = edges(document, place).indexOf(edge);
  if (found >= 0) document.deleteIn([...place, found]);
}

function addEdge(document: Document, place: readonly string[], edge: string): void {
  if (!isSeq(document.getIn(place))) document.setIn(place, document.createNode([], { flow: true }));
  if (!edges(document, place).includes(edge)) document.addIn(place, edge);
}
