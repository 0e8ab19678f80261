// Where a run can branch off: at its question, and behind each call, as long as no other call is under way there.
import { told } from "./shown";
import type { RunEvent } from "./types";

export interface BranchPoint {
  /** The number of the last entry that the branch takes over. */
  at: number;
  /** The tool of the call behind which the branch begins; empty at the beginning. */
  tool: string;
  /** What came of the call, as a text that can be written anew. */
  result: string;
}

/** The points in their order, the beginning first. */
export function branchPoints(entries: readonly RunEvent[]): BranchPoint[] {
  const found: BranchPoint[] = [{ at: 0, tool: "", result: "" }];
  const begun = new Set<string>();
  for (const entry of entries) {
    const call = entry.call ?? "";
    if (entry.type === "intended") begun.add(call);
    if (entry.type !== "call_completed" && entry.type !== "call_refused") continue;
    begun.delete(call);
    if (begun.size === 0) found.push({ at: entry.number, tool: entry.tool ?? "", result: told(entry.result ?? entry.error?.message ?? "") });
  }
  return found;
}
