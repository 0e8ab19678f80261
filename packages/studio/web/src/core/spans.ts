// A run in time as rows of a tree: which rows are seen, and where their bars stand.
import type { components } from "./schema";

export type Span = components["schemas"]["RunSpan"];
export type Timeline = components["schemas"]["RunTimeline"];

export interface Row {
  span: Span;
  level: number;
  hasChildren: boolean;
  isOpen: boolean;
}

/** The rows that are seen: children of a closed row are left out. */
export function rows(spans: readonly Span[], closed: ReadonlySet<string>): Row[] {
  const parents = new Set(spans.map((each) => each.parent));
  const levels = new Map<string, number>();
  const hidden = new Set<string>();
  const found: Row[] = [];
  for (const span of spans) {
    const level = span.parent ? (levels.get(span.parent) ?? 0) + 1 : 1;
    levels.set(span.id, level);
    if (span.parent && (hidden.has(span.parent) || closed.has(span.parent))) {
      hidden.add(span.id);
      continue;
    }
    const hasChildren = parents.has(span.id);
    found.push({ span, level, hasChildren, isOpen: hasChildren && !closed.has(span.id) });
  }
  return found;
}

export interface View {
  from: number;
  until: number;
}

/** The part of the time that is seen, nearer by `by` (over 1) or farther, around a moment; never beyond the whole. */
export function zoomed(view: View, whole: View, by: number, around: number): View {
  const width = Math.min(whole.until - whole.from, (view.until - view.from) / by);
  const share = (around - view.from) / (view.until - view.from || 1);
  const from = Math.max(whole.from, Math.min(whole.until - width, around - width * share));
  return { from, until: from + width };
}

/** Where a bar stands in a view, in percent: its left edge and its width. What is a moment keeps a little width. */
export function bar(span: Span, view: View): { left: number; width: number } | undefined {
  const width = view.until - view.from || 1;
  const ended = span.ended ?? view.until;
  if (ended < view.from || span.began > view.until) return undefined;
  const left = ((Math.max(span.began, view.from) - view.from) / width) * 100;
  const right = ((Math.min(ended, view.until) - view.from) / width) * 100;
  return { left: Math.min(left, 99.6), width: Math.max(0.4, right - left) };
}
