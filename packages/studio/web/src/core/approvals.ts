// What waits for a person: one list for all that show it. The feed tells each change.
import { useQuery } from "@tanstack/react-query";

import { ask } from "./api";
import type { Approval, Approvals } from "./types";
import type { Timeline } from "./spans";

export function useApprovals(isWanted = true) {
  return useQuery({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => ask<Approvals>("GET", "/v1/approvals", { signal, query: { count: true, limit: 100 } }),
    enabled: isWanted,
  });
}

const own = new Set<string>();

/** This page answers it. */
export function noteOwn(id: string): void {
  own.add(id);
}

/** Who answered what does not wait any more; undefined where this page did, or where it ended without an answer. */
export async function answeredBy(approval: Approval): Promise<string | undefined> {
  if (own.has(approval.id)) return undefined;
  const { spans } = await ask<Timeline>("GET", `/v1/runs/${encodeURIComponent(approval.run)}/timeline`);
  return spans.find((each) => each.kind === "question" && each.id.endsWith(approval.id))?.by || undefined;
}
