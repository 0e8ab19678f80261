// What the pages know of the types of nodes. The file beside this one is made of the server's own table.
import table from "./node-types.json";

export interface FieldSchema {
  type?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
}

export interface NodeType {
  fields: Record<string, FieldSchema>;
  required: string[];
  gives: string[];
  ports: string;
  isContainer: boolean;
}

export type Fields = Record<string, unknown>;

export const NODE_TYPES = table as Record<string, NodeType>;

/** The type of this name; undefined for a name that no type has. */
export function typeOf(name: string): NodeType | undefined {
  return Object.hasOwn(NODE_TYPES, name) ? NODE_TYPES[name] : undefined;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** At which ports a workflow may go on behind a node. */
export function portsOf(node: Fields): string[] {
  const ports = ownPorts(typeOf(String(node["type"]))?.ports ?? "none", node);
  return node["on_error"] === "branch" ? [...ports, "error"] : ports;
}

function ownPorts(kind: string, node: Fields): string[] {
  const late = node["expires"] === undefined || node["expires"] === null ? [] : ["expired"];
  switch (kind) {
    case "out":
      return ["out"];
    case "cases":
      return [...list(node["cases"]).map((each) => (isObject(each) ? String(each["port"] ?? "") : "")).filter(Boolean), "else"];
    case "classes":
      return isObject(node["classes"]) ? Object.keys(node["classes"]) : [];
    case "choices": {
      const choices = list(node["choices"]).map(String);
      return [...(choices.length ? choices : ["out"]), "denied", ...late];
    }
    case "event":
      return ["out", ...late];
    default:
      return [];
  }
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const ASIDE = ["error", "denied", "expired"];

/** A port as an edge names it: empty for the only port of a node. */
export function portInEdge(ports: readonly string[], port: string): string {
  const main = ports.filter((each) => !ASIDE.includes(each));
  return main.length === 1 && main[0] === port ? "" : port;
}

/** The port that an edge means: the other way. */
export function portOfEdge(ports: readonly string[], written: string): string {
  return written || (ports.find((each) => !ASIDE.includes(each)) ?? "out");
}

/** What a new node of a type begins with. */
export function newNode(type: string): Fields {
  const found = typeOf(type);
  const fields: Fields = { type };
  for (const name of found?.required ?? []) fields[name] = BEGINS[`${type}.${name}`] ?? EMPTY[found?.fields[name]?.type ?? ""] ?? "";
  if (found?.isContainer) fields["nodes"] = {};
  return fields;
}

const EMPTY: Record<string, unknown> = { object: {}, array: [] };
const BEGINS: Record<string, unknown> = {
  "if.cases": [{ port: "yes", when: "true" }],
  "classify.classes": { yes: "", no: "" },
  "extract.schema": { type: "object", properties: {} },
  "each.over": [],
};
