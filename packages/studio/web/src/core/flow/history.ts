// Undo and redo: the texts as they were, to the byte. Edits of one group, such as the keys typed into a field, are one.
// What others changed meanwhile stays: then the edit alone is taken back.
import { merged } from "./merge";

interface Edit {
  before: string;
  after: string;
}

export interface History {
  done: readonly Edit[];
  undone: readonly Edit[];
  /** What the latest edit was about; empty for an edit that stands alone. */
  group: string;
}

export const NO_HISTORY: History = { done: [], undone: [], group: "" };
const STEPS_MAX = 200;

/** The history behind an edit. */
export function noted(history: History, before: string, after: string, group = ""): History {
  const last = history.done.at(-1);
  if (group && group === history.group && last?.after === before) return { done: [...history.done.slice(0, -1), { before: last.before, after }], undone: [], group };
  return { done: [...history.done, { before, after }].slice(-STEPS_MAX), undone: [], group };
}

/** The text without the latest edit, and the history then; undefined where nothing can be undone. */
export function undone(history: History, text: string): { text: string; history: History } | undefined {
  const last = history.done.at(-1);
  const found = last && without(text, last.after, last.before);
  return last && found !== undefined ? { text: found, history: { done: history.done.slice(0, -1), undone: [...history.undone, last], group: "" } } : undefined;
}

export function redone(history: History, text: string): { text: string; history: History } | undefined {
  const next = history.undone.at(-1);
  const found = next && without(text, next.before, next.after);
  return next && found !== undefined ? { text: found, history: { done: [...history.done, next], undone: history.undone.slice(0, -1), group: "" } } : undefined;
}

function without(text: string, from: string, to: string): string | undefined {
  return text === from ? to : merged(from, text, to, "theirs");
}
