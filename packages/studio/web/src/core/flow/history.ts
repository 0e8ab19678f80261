// Undo and redo: the texts as they were, to the byte. Edits of one group, such as the keys typed into a field, are one.

export interface History {
  before: readonly string[];
  after: readonly string[];
  /** What the latest edit was about; empty for an edit that stands alone. */
  group: string;
}

export const NO_HISTORY: History = { before: [], after: [], group: "" };
const STEPS_MAX = 200;

/** The history behind an edit of `text`. */
export function noted(history: History, text: string, group = ""): History {
  if (group && group === history.group && history.before.length) return { ...history, after: [] };
  return { before: [...history.before, text].slice(-STEPS_MAX), after: [], group };
}

/** What was there before, and the history then; undefined where nothing is left to undo. */
export function undone(history: History, text: string): { text: string; history: History } | undefined {
  const last = history.before.at(-1);
  if (last === undefined) return undefined;
  return { text: last, history: { before: history.before.slice(0, -1), after: [...history.after, text], group: "" } };
}

export function redone(history: History, text: string): { text: string; history: History } | undefined {
  const next = history.after.at(-1);
  if (next === undefined) return undefined;
  return { text: next, history: { before: [...history.before, text], after: history.after.slice(0, -1), group: "" } };
}
