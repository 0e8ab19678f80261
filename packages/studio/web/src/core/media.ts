// What a page knows of its window.
import { useSyncExternalStore } from "react";

const WIDE = matchMedia("(min-width: 60rem)");

function hear(changed: () => void): () => void {
  WIDE.addEventListener("change", changed);
  return () => WIDE.removeEventListener("change", changed);
}

/** Whether two columns fit side by side. */
export function useWide(): boolean {
  return useSyncExternalStore(hear, () => WIDE.matches);
}
