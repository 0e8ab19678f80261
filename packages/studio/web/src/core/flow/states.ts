// How the nodes of a workflow stand in a run.
import type { Span, Timeline } from "../spans";
import type { State } from "../texts";
import type { CallFailure } from "../types";

export interface NodeState {
  state: State;
  attempt: number;
  /** How many attempts there may be; 0 where nobody knows. */
  most: number;
  /** Seconds of the last pass; undefined while it is under way. */
  took: number | undefined;
  passes: number;
  /** What went in and what came out, where the run has it. */
  given: Record<string, unknown> | undefined;
  came: unknown;
  error: Pick<CallFailure, "code" | "message"> | undefined;
}

const WAITS: readonly Span["kind"][] = ["question", "call"];
const WAITING_TYPES = ["human", "wait"];

/**
 * Of each node its last pass, by the path in the definition: `trips[3]/book` is `trips/book`.
 * `nodes`: those of the definition, so that what a run that is over has not come to is told as skipped.
 */
export function nodeStates(timeline: Timeline, isOver: boolean, nodes: readonly { path: string; type: string }[]): Map<string, NodeState> {
  const types = new Map(nodes.map((each) => [each.path, each.type]));
  const found = new Map<string, NodeState>();
  const below = new Map<string, Span[]>();
  for (const span of timeline.spans) below.set(span.parent, [...(below.get(span.parent) ?? []), span]);
  for (const span of timeline.spans) {
    if (span.kind !== "node") continue;
    const path = span.name.replace(/\[\d+\]/g, "");
    const inside = all(below, span.id);
    const call = inside.find((each) => each.kind === "call");
    const isAsked = WAITING_TYPES.includes(types.get(path) ?? "") || inside.some((each) => WAITS.includes(each.kind) && each.state === "waiting");
    const isWaiting = span.ended === null && isAsked;
    found.set(path, {
      state: isWaiting ? "waiting" : span.state,
      attempt: Math.max(1, ...inside.map((each) => each.attempt ?? 0)),
      most: timeline.attempts,
      took: span.ended === null ? undefined : span.ended - span.began,
      passes: (found.get(path)?.passes ?? 0) + 1,
      given: call?.arguments ?? span.arguments ?? undefined,
      came: call ? call.result : span.result,
      error: call?.error ?? (span.text ? { code: span.code ?? "", message: span.text } : undefined),
    });
  }
  if (isOver) {
    const skipped: NodeState = { state: "skipped", attempt: 1, most: 0, took: undefined, passes: 0, given: undefined, came: undefined, error: undefined };
    for (const { path, type } of nodes) if (!found.has(path) && type !== "note") found.set(path, skipped);
  }
  return found;
}

function all(below: ReadonlyMap<string, Span[]>, id: string): Span[] {
  return (below.get(id) ?? []).flatMap((each) => [each, ...all(below, each.id)]);
}
