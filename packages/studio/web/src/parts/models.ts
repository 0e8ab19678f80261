// The models that a text made here may name.
import { useQuery } from "@tanstack/react-query";

import { ask } from "../core/api";
import type { Agent, Part } from "../core/types";

/** The names of the models that the server offers; its agents are among them by their names, and no model of what is made here. */
export function useModels(isWanted = true) {
  return useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) => {
      const offered = await ask<{ data: { id: string }[] }>("GET", "/v1/models", { signal });
      const agents = await ask<Part<Agent>>("GET", "/v1/agents", { signal, query: { limit: 100 } });
      const names = new Set(agents.items.map((each) => each.name));
      return offered.data.map((each) => each.id).filter((each) => !names.has(each));
    },
    enabled: isWanted,
  });
}
