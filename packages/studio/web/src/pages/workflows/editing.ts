// The text of a workflow while it is edited: read for the canvas, changed by edits, with undo and redo.
import { useMemo, useRef, useState } from "react";

import { type Flow, flowOf } from "../../core/flow/document";
import { NO_HISTORY, noted, redone, undone } from "../../core/flow/history";
import type { Writing } from "../../parts/draft";

export interface Editing {
  text: string;
  /** What the text says; undefined where it can not be drawn. */
  flow: Flow | undefined;
  /** Something was typed that is not in the text yet. */
  isTyping: boolean;
  canUndo: boolean;
  canRedo: boolean;
  /** Changes the text. Edits of one `group` in a row are undone together. */
  change(edit: (text: string) => string, group?: string): void;
  /** A field has, or has no more, what is not in the text yet. */
  typing(isTyping: boolean): void;
  undo(): void;
  redo(): void;
}

export function useEditing(draft: Writing): Editing {
  const [history, setHistory] = useState(NO_HISTORY);
  const text = draft.text ?? "";
  const now = useRef({ text, history });
  now.current = { text, history };
  const flow = useMemo(() => flowOf(text), [text]);
  function put(next: string, then: typeof history): void {
    now.current = { text: next, history: then };
    setHistory(then);
    draft.write(next);
  }
  function step(taken: ReturnType<typeof undone>): void {
    if (taken) put(taken.text, taken.history);
  }
  return {
    text,
    flow,
    isTyping: draft.isTyping,
    typing: draft.typing,
    canUndo: history.done.length > 0,
    canRedo: history.undone.length > 0,
    change: (edit, group = "") => {
      const before = now.current.text;
      const next = edit(before);
      if (next !== before) put(next, noted(now.current.history, before, next, group));
    },
    undo: () => step(undone(now.current.history, now.current.text)),
    redo: () => step(redone(now.current.history, now.current.text)),
  };
}
