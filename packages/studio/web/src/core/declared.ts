// The parameters of a tool's declaration, as far as a page can read them: the text may be JSON, YAML or TOML, and half.

interface Schema {
  type?: string;
  properties?: Record<string, { type?: string; default?: unknown }>;
  required?: string[];
}

/** The schema of the parameters that a declaration in JSON names, flat or not; undefined where it can not be read. */
export function parametersOf(text: string): Schema | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const outer = isObject(value) ? value : {};
  const declared = isObject(outer["function"]) ? outer["function"] : outer;
  const given = declared["parameters"] ?? declared["input_schema"] ?? declared["inputSchema"] ?? {};
  if (!isObject(given)) return undefined;
  if (isObject(given["properties"]) || given["type"] === "object") return given as Schema;
  const entries = Object.entries(given).map(([name, each]) => [name, typeof each === "string" ? { type: each } : each] as const);
  const required = entries.filter(([, each]) => isObject(each) && !("default" in each) && each["required"] !== false);
  return { type: "object", properties: Object.fromEntries(entries) as NonNullable<Schema["properties"]>, required: required.map(([name]) => name) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
