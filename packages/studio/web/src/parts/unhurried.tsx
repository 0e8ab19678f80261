// A press that comes too soon does not count, and the page says so: where the person looks, and to screen readers.
import { useState, type ReactNode, type RefObject } from "react";

import { useText } from "../core/language";
import { COMMON } from "../core/texts";
import { useSettled } from "./settled";
import { tell } from "./status";

export interface Unhurried<E extends HTMLElement> {
  /** Of what holds the buttons. */
  ref: RefObject<E | null>;
  /** The buttons have been at their place for a while. */
  isSettled: boolean;
  /** Does what a press asks for, unless it came too soon. */
  press(act: () => void): void;
  /** Stands behind the buttons: that the last press did not count. */
  note: ReactNode;
}

export function useUnhurried<E extends HTMLElement>(): Unhurried<E> {
  const say = useText(COMMON);
  const [ref, isSettled] = useSettled<E>();
  const [isTooSoon, setTooSoon] = useState(false);
  function press(act: () => void): void {
    setTooSoon(!isSettled);
    if (isSettled) act();
    else tell(say("notCounted"));
  }
  return { ref, isSettled, press, note: isTooSoon && <p className="hint">{say("notCounted")}</p> };
}
