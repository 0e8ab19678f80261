// What a person has written and not sent. It is kept as long as the tab is open: the log-in, or another page, may take the
// place of a page at any time.
import { useEffect, useRef, useState, type Dispatch, type SetStateAction } from "react";

const kept = new Map<string, unknown>();

/** Like `useState`, of what is found again under its place. At another place it goes on there. `first` is what is not kept. */
export function useKept<T>(place: string, first: T): [T, Dispatch<SetStateAction<T>>] {
  const [value, set] = useState<T>(() => (kept.has(place) ? (kept.get(place) as T) : first));
  const before = useRef(place);
  useEffect(() => {
    if (before.current !== place) kept.delete(before.current);
    before.current = place;
    if (JSON.stringify(value) === JSON.stringify(first)) kept.delete(place);
    else kept.set(place, value);
  });
  return [value, set];
}
