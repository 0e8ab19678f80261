// What a person has written and not sent. It is kept as long as the tab is open: the log-in, or another page, may take the
// place of a page at any time.
import { useEffect, useRef, useState, type Dispatch, type SetStateAction } from "react";

const kept = new Map<string, unknown>();

/**
 * Like `useState`, of what is found again under its place. At another place it goes on there. `first` is what is not kept.
 * What is set behind the page that was left, such as an empty field for a message that was sent, is found there, too.
 */
export function useKept<T>(place: string, first: T): [T, Dispatch<SetStateAction<T>>] {
  const known = () => (kept.has(place) ? (kept.get(place) as T) : first);
  const [value, set] = useState<T>(known);
  const before = useRef(place);
  const isHere = useRef(true);
  const keep = (value: T) => {
    if (JSON.stringify(value) === JSON.stringify(first)) kept.delete(place);
    else kept.set(place, value);
  };
  useEffect(() => {
    if (before.current !== place) kept.delete(before.current);
    before.current = place;
    keep(value);
  });
  useEffect(() => {
    isHere.current = true;
    return () => void (isHere.current = false);
  }, []);
  const change = (next: SetStateAction<T>) => {
    if (isHere.current) set(next);
    else keep(next instanceof Function ? next(known()) : next);
  };
  return [value, change];
}
