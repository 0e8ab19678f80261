// The keys of the pages, which `?` shows.
import { useEffect, useRef } from "react";

import { useText } from "../core/language";
import { COMMON } from "../core/texts";

const KEYS = [
  ["Enter", "keySend"],
  ["Shift + Enter", "keyLine"],
  ["↑ ↓ ← →", "keyMove"],
  ["+ −", "keyZoom"],
  ["?", "keyHelp"],
  ["Esc", "keyLeave"],
] as const;

export function Keys() {
  const say = useText(COMMON);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isTyped = event.target instanceof HTMLElement && event.target.closest("input, textarea, select") !== null;
      if (event.key === "?" && !isTyped && !dialog.current?.open) dialog.current?.showModal();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <dialog ref={dialog} aria-label={say("shortcuts")}>
      <h2>{say("shortcuts")}</h2>
      <dl className="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{say(does)}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        {say("close")}
      </button>
    </dialog>
  );
}
