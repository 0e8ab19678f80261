// A draft as it is written: saved by itself with the revision that it was made of, and never over somebody else's.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { ask, isProblem } from "../core/api";
import type { Draft } from "../core/types";

/** So long after the last key, what was written is saved. */
const PAUSE_MS = 600;

export interface Writing {
  /** What the page shows; undefined until the draft has come. */
  text: string | undefined;
  /** Nobody knows yet whether there is a draft. */
  isPending: boolean;
  revision: number;
  isSaved: boolean;
  /** Why it could not be saved. */
  error: unknown;
  /** What somebody else has saved since. */
  theirs: Draft | undefined;
  write(text: string): void;
  keepMine(): void;
  takeTheirs(): void;
}

/** The draft under a path such as `/v1/tools/weather`. `fallback`: what is edited where there is no draft yet. */
export function useDraft(path: string, isWanted: boolean, fallback: string | undefined): Writing {
  const asked = useQuery({
    queryKey: ["draft", path],
    queryFn: ({ signal }) =>
      ask<Draft>("GET", `${path}/draft`, { signal }).catch((error: unknown) => {
        if (isProblem(error, 404)) return null;
        throw error;
      }),
    enabled: isWanted,
    refetchOnWindowFocus: false,
    staleTime: Infinity,
  });
  const [saved, setSaved] = useState<{ text: string; revision: number }>();
  const [text, setText] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [theirs, setTheirs] = useState<Draft>();
  const isBusy = useRef(false);
  const base = saved ?? (asked.data ? { text: asked.data.text, revision: asked.data.revision } : asked.data === null && fallback !== undefined ? { text: fallback, revision: 0 } : undefined);
  const shown = text ?? base?.text;
  const isSaved = shown === undefined || shown === base?.text;

  async function save(what: string, revision: number) {
    isBusy.current = true;
    try {
      const kept = await ask<Draft>("POST", `${path}/draft`, { body: { text: what, revision } });
      setSaved({ text: kept.text, revision: kept.revision });
      setError(undefined);
    } catch (failed) {
      if (isProblem(failed, "stale")) setTheirs(await ask<Draft>("GET", `${path}/draft`).catch(() => undefined));
      setError(failed);
    } finally {
      isBusy.current = false;
    }
  }

  useEffect(() => {
    if (isSaved || shown === undefined || theirs) return;
    const again = error ? 4_000 : PAUSE_MS; // a server that is away is asked again
    const timer = setTimeout(() => !isBusy.current && void save(shown, base?.revision ?? 0), again);
    return () => clearTimeout(timer);
  });

  return {
    text: shown,
    isPending: isWanted && asked.isPending,
    revision: base?.revision ?? 0,
    isSaved,
    error: error ?? asked.error,
    theirs,
    write: (next) => setText(next),
    keepMine: () => {
      if (theirs && shown !== undefined) void save(shown, theirs.revision);
      setTheirs(undefined);
    },
    takeTheirs: () => {
      if (theirs) setSaved({ text: theirs.text, revision: theirs.revision });
      setText(undefined);
      setTheirs(undefined);
      setError(undefined);
    },
  };
}
