// Two texts that were made of one: changes of different nodes come together, in the text of this person.
import { type Document, isMap, isScalar, isSeq, parseDocument } from "yaml";

import { type Fields, isObject } from "./types";

const OWN = new Set(["nodes", "edges", "view"]);

/** The text with the changes of both; undefined where both changed the same node or field, or a text can't be read. */
export function merged(base: string, mine: string, theirs: string): string | undefined {
  if (mine === base || mine === theirs) return theirs;
  const [before, own, other] = [base, mine, theirs].map((text) => read(text));
  if (!before || !own || !other) return undefined;
  const fields = [...new Set([...Object.keys(before.value), ...Object.keys(own.value), ...Object.keys(other.value)])];
  for (const field of fields.filter((each) => !OWN.has(each))) {
    if (!taken(own.document, other.document, [field], [before.value, own.value, other.value], field)) return undefined;
  }
  const maps = (name: string) => [before, own, other].map((each) => (isObject(each.value[name]) ? each.value[name] : {})) as [Fields, Fields, Fields];
  for (const name of ["nodes", "view"]) {
    const values = maps(name);
    for (const each of new Set(values.flatMap((value) => Object.keys(value)))) {
      if (!taken(own.document, other.document, [name, each], values, each) && name === "nodes") return undefined;
    }
  }
  const [first, , last] = [before, own, other].map((each) => (Array.isArray(each.value["edges"]) ? each.value["edges"].map(String) : []));
  for (const edge of first?.filter((each) => !last?.includes(each)) ?? []) dropEdge(own.document, edge);
  for (const edge of last?.filter((each) => !first?.includes(each)) ?? []) addEdge(own.document, edge);
  return own.document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function read(text: string): { document: Document; value: Fields } | undefined {
  const document = parseDocument(text);
  if (document.errors.length) return undefined;
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return isObject(value) ? { document, value } : undefined;
  } catch {
    return undefined;
  }
}

/** Takes over what the other changed; false where both changed it, each in another way. */
function taken(own: Document, other: Document, place: string[], [before, mine, theirs]: readonly [Fields, Fields, Fields], name: string): boolean {
  const [was, is, comes] = [before, mine, theirs].map((each) => (Object.hasOwn(each, name) ? JSON.stringify(each[name]) : undefined));
  if (comes === was || comes === is) return true;
  if (is !== was) return false;
  if (comes === undefined) own.deleteIn(place);
  else if (isMap(own.getIn(place.slice(0, -1), true)) || place.length === 1) own.setIn(place, other.getIn(place, true));
  else own.setIn(place.slice(0, -1), other.getIn(place.slice(0, -1), true));
  return true;
}

function edges(document: Document): string[] {
  const found = document.get("edges");
  return isSeq(found) ? found.items.map((each) => String(isScalar(each) ? each.value : each)) : [];
}

function dropEdge(document: Document, edge: string): void {
  const at = edges(document).indexOf(edge);
  if (at >= 0) document.deleteIn(["edges", at]);
}

function addEdge(document: Document, edge: string): void {
  if (!isSeq(document.get("edges"))) document.set("edges", document.createNode([], { flow: true }));
  if (!edges(document).includes(edge)) document.addIn(["edges"], edge);
}
