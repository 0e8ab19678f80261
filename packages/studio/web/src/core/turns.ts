// A run as a person reads it: what was asked, the calls with what became of them, and what was said.
import type { CallFailure, Origin, RunEvent } from "./types";
import type { State } from "./texts";

export interface Call {
  id: string;
  tool: string;
  arguments: Record<string, unknown>;
  state: State;
  attempt: number;
  began: number;
  ended: number;
  result: unknown;
  error: CallFailure | null;
  approval: string;
  /** The digest of the tool's definition. */
  version: string;
  rule: string;
  origins: Record<string, Origin[]>;
  /** Who answered what was asked about the call. */
  answers: { by: string; verdict: string }[];
}

export type Step = { kind: "said"; text: string; number: number } | { kind: "calls"; calls: Call[]; number: number };

export interface Turn {
  question: string;
  steps: Step[];
  status: string;
  reason: string;
  isOver: boolean;
}

const OVER: Record<string, State> = { permission_denied: "denied", approval_denied: "denied", in_doubt: "doubt" };

/** Whether nothing more comes in this run: where it waits for a person, `ended` is told as well. */
export function isLast(entry: RunEvent): boolean {
  return entry.type === "ended" && !["waiting", "paused"].includes(entry.status ?? "");
}

/** The entries of a run, folded in their order. */
export function turn(entries: readonly RunEvent[]): Turn {
  const found: Turn = { question: "", steps: [], status: "running", reason: "", isOver: false };
  const calls = new Map<string, Call>();
  const asked = new Map<string, Call>();
  let answer: Extract<Step, { kind: "said" }> | undefined;
  const called = (entry: RunEvent): Call => {
    const id = entry.call || String(entry.number);
    const known = calls.get(id);
    if (known) return known;
    const made: Call = {
      id,
      tool: entry.tool ?? "",
      arguments: entry.arguments ?? {},
      state: "running",
      attempt: 1,
      began: entry.at,
      ended: 0,
      result: undefined,
      error: null,
      approval: "",
      version: "",
      rule: "",
      origins: {},
      answers: [],
    };
    calls.set(id, made);
    const last = found.steps.at(-1);
    if (last?.kind === "calls") last.calls.push(made);
    else found.steps.push({ kind: "calls", calls: [made], number: entry.number });
    return made;
  };
  for (const entry of entries) {
    switch (entry.type) {
      case "started":
        found.question = entry.text ?? "";
        break;
      case "model_replied":
        answer = undefined; // an answer that another reply follows was refused
        if (entry.text && entry.calls?.length) found.steps.push({ kind: "said", text: entry.text, number: entry.number });
        else if (entry.text) answer = { kind: "said", text: entry.text, number: entry.number };
        break;
      case "intended":
        Object.assign(called(entry), {
          state: "running",
          attempt: entry.attempt ?? 1,
          arguments: entry.arguments ?? {},
          version: entry.version ?? "",
          rule: entry.rule ?? "",
          origins: entry.origins ?? {},
        });
        break;
      case "call_parked":
      case "input_requested":
        if (answer) found.steps.push(answer);
        answer = undefined;
        if (entry.call || entry.tool) {
          const call = Object.assign(called(entry), { state: "waiting", approval: entry.approval ?? "" });
          if (entry.arguments) call.arguments = entry.arguments;
          call.rule = entry.rule || call.rule;
          asked.set(call.approval, call);
        }
        found.status = "waiting";
        break;
      case "input_given":
        asked.get(entry.approval ?? "")?.answers.push({ by: entry.by ?? "", verdict: entry.verdict ?? "" });
        Object.assign(found, { status: "running", isOver: false });
        break;
      case "call_refused":
      case "call_completed": {
        const call = called(entry);
        const error = entry.error ?? null;
        const state: State = error ? (OVER[error.code] ?? "failed") : "done";
        Object.assign(call, { state, error, result: entry.result, ended: entry.at, rule: entry.rule || call.rule });
        break;
      }
      case "ended":
        // What was told at the end may be less than the model said: words that no source backs are left out or marked.
        if (answer) found.steps.push(entry.status === "done" && entry.text ? { ...answer, text: entry.text } : answer);
        answer = undefined;
        found.status = entry.status ?? "done";
        found.reason = entry.reason ?? "";
        found.isOver = isLast(entry);
        break;
      default:
        break;
    }
  }
  return found;
}
