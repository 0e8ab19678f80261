// A draft as it is written: saved by itself with the revision that it was made of, and never over somebody else's.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { ask, isProblem, orNull } from "../core/api";
import type { Draft } from "../core/types";

/** So long after the last key, what was written is saved. */
const PAUSE_MS = 600;
/** So long after a failure, it is tried again: a server that is away may be back. */
const AGAIN_MS = 4_000;

export interface Writing {
  /** What the page shows; undefined until the draft has come. */
  text: string | undefined;
  /** Nobody knows yet whether there is a draft. */
  isPending: boolean;
  revision: number;
  isSaved: boolean;
  /** Why it could not be saved. */
  error: unknown;
  /** What somebody else has saved since; null where somebody has deleted the draft. */
  theirs: Draft | null | undefined;
  write(text: string): void;
  keepMine(): void;
  takeTheirs(): void;
}

/** The draft that is there; null where there is none. */
function drafted(path: string, signal?: AbortSignal): Promise<Draft | null> {
  return ask<Draft>("GET", `${path}/draft`, signal ? { signal } : {}).catch(orNull);
}

/** One text of two that were made of the same one; undefined where a person has to choose. */
export type Merge = (base: string, mine: string, theirs: string) => string | undefined;

/** The draft under a path such as `/v1/tools/weather`. `fallback`: what is edited where there is no draft yet. */
export function useDraft(path: string, isWanted: boolean, fallback: string | undefined, merge?: Merge): Writing {
  const asked = useQuery({
    queryKey: ["draft", path],
    queryFn: ({ signal }) => drafted(path, signal),
    enabled: isWanted,
    refetchOnWindowFocus: false,
    staleTime: Infinity,
  });
  const known = useQueryClient();
  const [text, setText] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [theirs, setTheirs] = useState<Draft | null>();
  const isBusy = useRef(false);
  const base = asked.data ?? (asked.data === null && fallback !== undefined ? { text: fallback, revision: 0 } : undefined);
  const shown = text ?? base?.text;
  const isSaved = shown === undefined || shown === base?.text;

  async function save(what: string, revision: number) {
    isBusy.current = true;
    try {
      const kept = await ask<Draft>("POST", `${path}/draft`, { body: { text: what, revision } });
      known.setQueryData(["draft", path], kept);
      setError(undefined);
    } catch (failed) {
      const found = isProblem(failed, "stale") ? await drafted(path).catch(() => undefined) : undefined;
      const both = found && base ? merge?.(base.text, now.current ?? what, found.text) : undefined;
      if (found && both !== undefined) {
        known.setQueryData(["draft", path], found);
        setText(both);
        setError(undefined);
      } else {
        setTheirs(found);
        setError(failed);
      }
    } finally {
      isBusy.current = false;
    }
  }

  const now = useRef(shown);
  useEffect(() => {
    now.current = shown;
  });
  useEffect(() => {
    if (isSaved) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault(); // the browser asks whether to leave
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isSaved]);

  const isDue = !isSaved && shown !== undefined && theirs === undefined;
  const saveNow = useRef<() => void>(undefined);
  useEffect(() => {
    saveNow.current = isDue ? () => !isBusy.current && void save(shown, base?.revision ?? 0) : undefined;
    if (!isDue) return;
    const timer = setTimeout(() => saveNow.current?.(), error ? AGAIN_MS : PAUSE_MS);
    return () => clearTimeout(timer);
  });
  useEffect(() => () => saveNow.current?.(), []); // who goes to another page loses nothing

  return {
    text: shown,
    isPending: isWanted && asked.isPending,
    revision: base?.revision ?? 0,
    isSaved,
    error: error ?? asked.error,
    theirs,
    write: (next) => setText(next),
    keepMine: () => {
      if (theirs !== undefined && shown !== undefined) void save(shown, theirs?.revision ?? 0);
      setTheirs(undefined);
    },
    takeTheirs: () => {
      if (theirs !== undefined) known.setQueryData(["draft", path], theirs);
      setText(undefined);
      setTheirs(undefined);
      setError(undefined);
    },
  };
}
