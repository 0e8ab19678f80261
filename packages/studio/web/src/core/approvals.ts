// What waits for a person: one list for all that show it. The feed tells each change.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

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

/** What one run waits for: also where so much waits that the list tells only its beginning. */
export function useApprovalsOf(run: string): Approval[] {
  const { data } = useApprovals();
  const isPart = Boolean(data?.next);
  const { data: own } = useQuery({
    queryKey: ["approvals", "of", run],
    queryFn: ({ signal }) => ask<Approvals>("GET", "/v1/approvals", { signal, query: { run } }),
    enabled: isPart && run !== "",
    placeholderData: keepPreviousData,
  });
  return ((isPart && own) || data)?.items.filter((each) => each.run === run) ?? [];
}

/** All that waits behind a part of the list, asked for where it is wanted. */
export function useApprovalsBehind(cursor: string | null, isWanted: boolean) {
  return useQuery({
    queryKey: ["approvals", "behind", cursor],
    queryFn: async ({ signal }) => {
      const found: Approval[] = [];
      for (let next = cursor; next; ) {
        const part = await ask<Approvals>("GET", "/v1/approvals", { signal, query: { limit: 100, cursor: next } });
        found.push(...part.items);
        next = part.next;
      }
      return found;
    },
    enabled: isWanted && cursor !== null,
    placeholderData: keepPreviousData,
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
