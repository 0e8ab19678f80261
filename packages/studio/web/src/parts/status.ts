// One line that screen readers tell, wherever a person is.
import { create } from "zustand";

export const useTold = create<{ text: string }>(() => ({ text: "" }));

/** Tell this once; the same text again is told again. */
export function tell(text: string): void {
  useTold.setState({ text: "" });
  queueMicrotask(() => useTold.setState({ text }));
}
