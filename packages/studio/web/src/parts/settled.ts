// A press on Approve counts only when the button has been at its place for a while.
import { useEffect, useRef, useState, type RefObject } from "react";

/** How long a button has to be there, unmoved. */
export const SETTLES_MS = 500;
const LOOKS_MS = 50;

/** Whether this element has been at its place for `SETTLES_MS`; scrolling by a person moves it, too. */
export function useSettled<E extends HTMLElement>(): [RefObject<E | null>, boolean] {
  const element = useRef<E>(null);
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    let place = "";
    let since = performance.now();
    const look = () => {
      const box = element.current?.getBoundingClientRect();
      const found = box ? `${Math.round(box.x)} ${Math.round(box.y)} ${Math.round(box.width)}` : "";
      if (found !== place) {
        place = found;
        since = performance.now();
      }
      setSettled(performance.now() - since >= SETTLES_MS);
    };
    look();
    const looking = setInterval(look, LOOKS_MS);
    return () => clearInterval(looking);
  }, []);
  return [element, isSettled];
}
