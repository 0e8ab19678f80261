// Forgetting takes two presses: the first asks, and shows what else can go.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { brief } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { MemoryForgotten, MemoryItem } from "../../core/types";
import { Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";
import { tell } from "../../parts/status";
import { TEXTS } from "./texts";

export function Forget({ item, words }: { item: MemoryItem; words: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const [asked, setAsked] = useState<"not yet" | "now" | "left">("not yet");
  const [withRecord, setWithRecord] = useState(false);
  const act = usePress({
    mutationFn: () => ask<MemoryForgotten>("DELETE", `/v1/memories/${encodeURIComponent(item.id)}`, { query: withRecord ? { record: true } : {} }),
    onSuccess: (gone) => {
      const left = gone.on_record.length ? ` ${say("keptOnRecord")} ${gone.on_record.join(" ")}` : "";
      tell(say("forgotten", { count: gone.items.length }) + left);
    },
    onSettled: () => known.invalidateQueries({ queryKey: ["memories"] }),
  });
  const name = say("forgetThis", { words: brief(words, 60) });
  if (asked !== "now") {
    return (
      <button type="button" autoFocus={asked === "left"} aria-label={name} onClick={() => setAsked("now")}>
        {say("forget")}
      </button>
    );
  }
  return (
    <div role="group" aria-label={name} onKeyDown={(event) => event.key === "Escape" && setAsked("left")}>
      <label>
        <input type="checkbox" checked={withRecord} onChange={(event) => setWithRecord(event.target.checked)} />
        {say("withRecord")}
      </label>
      <div className="buttons">
        <button type="button" autoFocus aria-disabled={act.isPending} onClick={() => act.mutate()}>
          {say("confirm")}
        </button>
        <button type="button" onClick={() => setAsked("left")}>
          {common("cancel")}
        </button>
      </div>
      {act.isError && <Failure error={act.error} />}
    </div>
  );
}
