// One line that screen readers tell, wherever a person is.
import { create } from "zustand";

export const useTold = create<{ text: string; number: number }>(() => ({ text: "", number: 0 }));

/** Tell this once; the same text again is told again. */
export function tell(text: string): void {
  const { number } = useTold.getState();
  useTold.setState({ text: "", number });
  queueMicrotask(() => useTold.setState({ text, number: number + 1 }));
}
