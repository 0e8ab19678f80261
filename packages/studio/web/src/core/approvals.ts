// What waits for a person: one list for all that show it. The feed tells each change.
import { useQuery } from "@tanstack/react-query";

import { ask } from "./api";
import type { Approvals } from "./types";

export function useApprovals(isWanted = true) {
  return useQuery({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => ask<Approvals>("GET", "/v1/approvals", { signal, query: { count: true, limit: 100 } }),
    enabled: isWanted,
  });
}
