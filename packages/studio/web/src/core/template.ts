// Texts with places for values.

export type Values = Record<string, string | number>;

/** `Approvals ({count})` with its values in their places. */
export function filled(template: string, values: Values = {}): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
