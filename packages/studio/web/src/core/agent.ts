// The definition of an agent as a form shows it. The text is the truth: what no field shows stays as it is.

/** The limits of a run that a definition can lower. */
export const LIMITS = ["steps", "calls", "seconds", "tokens"] as const;
export type Limit = (typeof LIMITS)[number];

export interface AgentForm {
  description: string;
  model: string;
  instructions: string;
  /** The name of the published prompt that the instructions are; empty where they are a text. */
  prompt: string;
  /** Names of tools, as they are written: `orders@3` for a version, `knowledge:handbook` for a collection. */
  tools: string[];
  /** What no quote backs is marked in an answer or left out; empty where answers are not held to quotes. */
  cite: string;
  limits: Partial<Record<Limit, number>>;
}

type Fields = Record<string, unknown>;

/** A new agent. */
export function newAgent(name: string): string {
  return written({ actum: "agent/1", name, description: "", instructions: "", tools: [] });
}

/** What the fields of a form show; undefined for a text that is no JSON, or that a field can not show. */
export function agentOf(text: string): AgentForm | undefined {
  const fields = fieldsOf(text);
  if (!fields) return undefined;
  const { description = "", model = "", instructions = "", tools = [], cite = "", limits = {} } = fields;
  const prompt = isObject(instructions) ? instructions["prompt"] : "";
  const said = isObject(instructions) ? "" : instructions;
  if (![description, model, said, prompt, cite].every((each) => typeof each === "string")) return undefined;
  if (!Array.isArray(tools) || !tools.every((each) => typeof each === "string") || !isObject(limits)) return undefined;
  const known = LIMITS.map((each) => [each, limits[each] ?? undefined] as const).filter(([, value]) => value !== undefined);
  if (!known.every(([, value]) => typeof value === "number")) return undefined;
  return {
    description: description as string,
    model: model as string,
    instructions: said as string,
    prompt: prompt as string,
    tools: tools as string[],
    cite: cite as string,
    limits: Object.fromEntries(known) as AgentForm["limits"],
  };
}

/** The text with one field changed. A field without a value is left out, except those that every agent has. */
export function withField(text: string, name: "description" | "model" | "instructions" | "tools" | "cite", value: string | string[]): string {
  const fields = fieldsOf(text);
  if (!fields) return text;
  return written((name === "model" || name === "cite") && value === "" ? without(fields, name) : { ...fields, [name]: value });
}

/** The text with a limit; undefined takes it out. */
export function withLimit(text: string, name: Limit, value: number | undefined): string {
  const fields = fieldsOf(text);
  if (!fields) return text;
  const before = isObject(fields["limits"]) ? fields["limits"] : {};
  const limits = value === undefined ? without(before, name) : { ...before, [name]: value };
  return written(Object.keys(limits).length ? { ...fields, limits } : without(fields, "limits"));
}

/** What the tool of a collection of documents is called in the text of an agent. */
export const COLLECTION = "knowledge:";

/** The name of a tool without its version. */
export function bareName(tool: string): string {
  return tool.split("@", 1)[0] ?? tool;
}

function fieldsOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function without(fields: Fields, name: string): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name));
}

function written(fields: Fields): string {
  return JSON.stringify(fields, null, 2);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
