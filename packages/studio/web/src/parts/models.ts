// The models that a text made here may name.
import { useQuery } from "@tanstack/react-query";

import { ask } from "../core/api";

/** The names of the models that the server offers. Behind some names an agent answers: a text made here can not name these as its model. */
export function useModels(isWanted = true) {
  return useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) => {
      const offered = await ask<{ data: { id: string; agent?: string }[] }>("GET", "/v1/models", { signal });
      return offered.data.filter((each) => !each.agent).map((each) => each.id);
    },
    enabled: isWanted,
  });
}
