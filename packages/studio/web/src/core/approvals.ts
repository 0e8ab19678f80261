// What waits for a person: one list for all that show it.
import { useQuery } from "@tanstack/react-query";

import { ask } from "./api";
import type { Approval, Part } from "./types";

export function useApprovals(isWanted = true) {
  return useQuery({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => ask<Part<Approval>>("GET", "/v1/approvals", { signal, query: { count: true, limit: 100 } }),
    enabled: isWanted,
    refetchInterval: 1_500,
  });
}
