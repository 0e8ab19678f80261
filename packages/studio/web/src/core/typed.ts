// A text field whose value counts once its person has stopped typing.
import { useEffect, useRef, useState } from "react";

const PAUSE_MS = 250;

/** What is in the field, and how to change it; `value` is what counts, which others may change as well. */
export function useTyped(value: string, count: (value: string) => void): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sent = useRef([value]);
  useEffect(() => {
    const place = sent.current.lastIndexOf(value); // what counted before may come later than the next key
    if (place < 0) {
      clearTimeout(timer.current);
      setTyped(value);
    }
    sent.current = place < 0 ? [value] : sent.current.slice(place);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const latest = useRef(count); // the page may have changed between the key and its pause
  useEffect(() => {
    latest.current = count;
  });
  return [
    typed,
    (next) => {
      setTyped(next);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        sent.current.push(next);
        latest.current(next);
      }, PAUSE_MS);
    },
  ];
}
