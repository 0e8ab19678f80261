// What a press begins on the server: a second press while it is under way begins nothing, and the page that it leads to is
// shown only where its person has not gone on meanwhile.
import { useMutation, type UseMutationOptions, type UseMutationResult } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { isLost, once } from "../core/api";

interface Act<T, V> extends Omit<UseMutationOptions<T, Error, V>, "mutationFn"> {
  /** `key`: names what is given for the server, as `useOnce` says. */
  mutationFn: (given: V, key: string) => Promise<T>;
  /** What follows as long as the button is still there: where it leads, what its form shows. `onSuccess` follows in any case. */
  then?: (came: T, given: V) => unknown;
}

type Press<T, V> = Pick<UseMutationResult<T, Error, V>, "data" | "error" | "isError" | "isPending" | "reset"> & { mutate: (given: V) => void };

/** A mutation for a button or a form. Presses that ask for different things, such as two rows that are deleted, all count. */
export function usePress<T, V = void>({ then, mutationFn, ...act }: Act<T, V>): Press<T, V> {
  const isHere = useIsHere();
  const sent = useOnce();
  const under = useRef(new Set<string>());
  const made = useMutation({
    ...act,
    mutationFn: (given) => mutationFn(given, sent.keyOf(given)),
    onSettled: async (...all) => {
      await act.onSettled?.(...all);
      const [came, error, given] = all;
      under.current.delete(nameOf(given));
      if (!isLost(error)) sent.done(given);
      if (!error && isHere.current) await then?.(came as T, given);
    },
  });
  const mutate = (given: V) => {
    if (under.current.has(nameOf(given))) return;
    under.current.add(nameOf(given));
    made.mutate(given);
  };
  return { ...made, mutate };
}

function nameOf(given: unknown): string {
  return JSON.stringify(given) ?? "";
}

/** Keys for what starts something on the server. The same sent again, since its answer was lost, has the same key, by which the server
 * starts nothing a second time; what is sent again after it was `done` has another one. */
export function useOnce(): { keyOf: (sent: unknown) => string; done: (sent: unknown) => void } {
  const keys = useRef(new Map<string, string>());
  return {
    keyOf: (sent) => {
      const key = keys.current.get(nameOf(sent)) ?? once();
      keys.current.set(nameOf(sent), key);
      return key;
    },
    done: (sent) => keys.current.delete(nameOf(sent)),
  };
}

/** Whether the component is still shown, for what comes later. */
export function useIsHere(): { readonly current: boolean } {
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return isHere;
}
