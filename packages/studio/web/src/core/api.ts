// One way to the server: every request of a page goes through `ask`.
import { token } from "./session";
import type { Part } from "./types";

/** What the server says went wrong (RFC 9457). `status` 0: no answer came. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly reference = "",
    readonly body: Record<string, unknown> = {},
  ) {
    super(detail);
  }
}

export interface Request {
  query?: Record<string, string | number | boolean | string[] | undefined>;
  body?: unknown;
  signal?: AbortSignal;
  /** Given where the request starts something: sent again with the same key, it starts nothing twice. */
  once?: string;
}

export const SESSION_HEADER = "Actum-Session";

export function address(path: string, query: Request["query"] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) given.append(name, String(each));
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

/** The answer as it came. A status of an error is a `Problem`, and so is no answer at all. */
export async function send(method: string, path: string, request: Request = {}): Promise<Response> {
  const headers = new Headers({ Accept: "application/json", "Accept-Language": document.documentElement.lang });
  const own = token();
  if (own) headers.set(SESSION_HEADER, own);
  if (request.once) headers.set("Idempotency-Key", request.once);
  const init: RequestInit = { method, headers, credentials: "same-origin", redirect: "error", cache: "no-store" };
  if (request.signal) init.signal = request.signal;
  if (request.body !== undefined) {
    headers.set("Content-Type", "application/json");
    init.body = JSON.stringify(request.body);
  }
  const answer = await whole(fetch(address(path, request.query), init), request.signal);
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

/** What comes over the connection, which may be lost at any byte. */
async function whole<T>(coming: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await coming;
  } catch (error) {
    if (signal?.aborted || !(error instanceof TypeError)) throw error; // text that is no JSON is a SyntaxError
    throw new Problem(0, "offline", String(error));
  }
}

export async function ask<T>(method: string, path: string, request: Request = {}): Promise<T> {
  const answer = await send(method, path, request);
  return (answer.status === 204 ? undefined : await whole(answer.json(), request.signal)) as T;
}

/** A whole list, asked for part by part: for a choice among all that there is. */
export async function askAll<T>(path: string, request: Request = {}): Promise<Part<T>> {
  const items: T[] = [];
  let cursor = "";
  for (;;) {
    const part = await ask<Part<T>>("GET", path, { ...request, query: { limit: 100, ...request.query, cursor } });
    items.push(...part.items);
    if (!part.next || part.next === cursor) return { ...part, items, next: null };
    cursor = part.next;
  }
}

async function problemOf(answer: Response): Promise<Problem> {
  const text = await whole(answer.text());
  try {
    const told = JSON.parse(text) as Record<string, unknown>;
    const said = (name: string) => (typeof told[name] === "string" ? (told[name] as string) : "");
    return new Problem(answer.status, said("code"), said("detail") || said("title"), said("reference"), told);
  } catch {
    return new Problem(answer.status, "", answer.statusText);
  }
}

export function isProblem(error: unknown, ...codes: (number | string)[]): error is Problem {
  return error instanceof Problem && (codes.length === 0 || codes.includes(error.status) || codes.includes(error.code));
}

/** Whether no answer of the server came: it may be back soon, and may have done what it was asked for. */
export function isLost(error: unknown): boolean {
  return isProblem(error, 0, 502, 503, 504);
}

/** What `catch` makes of an error: null where there is nothing of this name. */
export function orNull(error: unknown): null {
  if (isProblem(error, 404)) return null;
  throw error;
}

/** A name for one request, so that it can be sent again safely. `randomUUID` is not there on a page without TLS. */
export function once(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
