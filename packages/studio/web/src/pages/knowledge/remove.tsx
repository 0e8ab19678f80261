// Removing takes two presses: the first asks.
import { useState } from "react";

import { ask, orNull } from "../../core/api";
import { useText } from "../../core/language";
import { COMMON } from "../../core/texts";
import { Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";
import { tell } from "../../parts/status";
import { TEXTS } from "./texts";

/** `what`: the name of a document; not given for the collection itself. `onGone`: where to go then, unless a person has gone on. */
export function Remove({ path, name, what, onRemoved, onGone = () => undefined }: { path: string; name: string; what?: string; onRemoved: () => unknown; onGone?: () => unknown }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const [asked, setAsked] = useState<"not yet" | "now" | "left">("not yet");
  const act = usePress({
    mutationFn: () => ask("DELETE", path).catch(orNull), // it may be gone already
    onSuccess: () => {
      tell(say("removed", { name }));
      return onRemoved();
    },
    then: onGone,
  });
  const label = what === undefined ? say("remove") : say("removeThis", { name });
  if (asked !== "now") {
    return (
      <button type="button" autoFocus={asked === "left"} aria-label={label} onClick={() => setAsked("now")}>
        {say("remove")}
      </button>
    );
  }
  return (
    <div role="group" aria-label={say("removeThis", { name })} onKeyDown={(event) => event.key === "Escape" && setAsked("left")}>
      <div className="buttons">
        <button type="button" autoFocus aria-disabled={act.isPending} onClick={() => act.mutate()}>
          {say("sure")}
        </button>
        <button type="button" onClick={() => setAsked("left")}>
          {common("cancel")}
        </button>
      </div>
      {act.isError && <Failure error={act.error} />}
    </div>
  );
}
