// How values are shown. What a tool, a model or a file says is never trusted to look like what it is.

/** Characters that are not seen, or that turn the direction of what follows: controls, bidi marks, zero-width ones. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/** A text with its unseen characters as escapes, such as `\u202e`. Line breaks and tabs stay. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** The beginning of a long text, and how many characters are left out. */
export function cut(text: string, most = 20_000): { text: string; left: number } {
  return text.length <= most ? { text, left: 0 } : { text: text.slice(0, most), left: text.length - most };
}

/** The beginning of a value as one line has room for it; `…` tells that there is more. */
export function brief(value: unknown, most: number): string {
  const { text, left } = cut(told(value), most);
  return left ? `${text.trimEnd()}…` : text;
}

/** A JSON value as a text for a person. */
export function told(value: unknown): string {
  return visible(typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? ""));
}

/** A time of the server, in the language of the page. */
export function time(seconds: number, language: string): string {
  return new Date(seconds * 1000).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium" });
}

/** A moment of the server as a field of a form has it, in the time of this place; empty where it is none. */
export function localMoment(seconds: string): string {
  const at = new Date(Number(seconds) * 1000);
  if (!seconds || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** What such a field says, in seconds since 1970. */
export function momentOf(local: string): string {
  return local && String(new Date(local).getTime() / 1000);
}

/** A span of seconds: `0.4 s`, `75 s`, `12 min`. */
export function span(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

/** Where a link leads, or undefined where it is none that may be followed. */
export function target(href: string | undefined): URL | undefined {
  if (!href) return undefined;
  try {
    const found = new URL(href);
    return ["http:", "https:", "mailto:"].includes(found.protocol) ? found : undefined;
  } catch {
    return undefined;
  }
}
