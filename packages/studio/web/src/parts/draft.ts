// A draft as it is written: saved by itself with the revision that it was made of, and never over somebody else's.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { ask, isLost, isProblem, orNull } from "../core/api";
import { useConnection, useDraftNews } from "../core/follow";
import type { Draft, DraftNews, Session } from "../core/types";

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
  /** A change of somebody else that was taken over as it was. */
  taken: Pick<DraftNews, "by"> | undefined;
  /** Something was typed that is not in the text yet. */
  isTyping: boolean;
  /** What both have changed; the whole texts where they do not come together. */
  conflicts: readonly Conflict[];
  write(text: string): void;
  /** A field has, or has no more, what is not in the text yet: until then nothing of others comes into the text. */
  typing(isTyping: boolean): void;
  /** Deletes the draft, behind a save that is under way. */
  remove(): Promise<void>;
  keepMine(): void;
  takeTheirs(): void;
}

/** What was typed and is not saved, by the user and the path of the draft, with the draft that it was made of: the log-in
 * or another page may take the place of a page at any time. */
const typed = new Map<string, { text: string; base: Draft | null }>();
/** What is under way for a draft, by the same: one save at a time, also where its page was left and opened again. */
const under = new Map<string, Promise<unknown>>();
/** The drafts whose pages are open, by the same. */
const open = new Set<string>();

// The browser asks whether to leave, also where the page of the draft was left before.
addEventListener("beforeunload", (event) => void (typed.size && event.preventDefault()));

/** The draft that is there; null where there is none. */
function drafted(path: string, signal?: AbortSignal): Promise<Draft | null> {
  return ask<Draft>("GET", `${path}/draft`, signal ? { signal } : {}).catch(orNull);
}

/** How two texts that were made of the same one come together, for definitions of which this is known. */
export interface Merging {
  /** Undefined where a person has to choose, and has not chosen a side. */
  merged(base: string, mine: string, theirs: string, side?: "mine" | "theirs"): string | undefined;
  /** What both changed; undefined where a text can't be read. */
  conflicts(base: string, mine: string, theirs: string): Conflict[] | undefined;
}

/** What both changed, each in another way; empty for what is gone. */
export interface Conflict {
  place: string;
  mine: string;
  theirs: string;
}

/** The draft under a path such as `/v1/tools/weather`. `fallback`: what is edited where there is no draft yet. */
export function useDraft(path: string, isWanted: boolean, fallback: string | undefined, merging?: Merging): Writing {
  const known = useQueryClient();
  const placeNow = () => `${known.getQueryData<Session>(["session"])?.user ?? ""} ${path}`;
  const place = placeNow();
  const [before] = useState(() => {
    const found = typed.get(place);
    if (found) known.setQueryData(["draft", path], found.base); // not the latest: what somebody else has saved since is found as ever
    return found;
  });
  const asked = useQuery({
    queryKey: ["draft", path],
    queryFn: ({ signal }) => drafted(path, signal),
    enabled: isWanted,
    refetchOnWindowFocus: false,
    staleTime: Infinity,
  });
  const [text, setText] = useState(before?.text);
  const [error, setError] = useState<unknown>();
  const [theirs, setTheirs] = useState<Draft | null>();
  const [taken, setTaken] = useState<Writing["taken"]>();
  const [isTyping, setTyping] = useState(false);
  const news = useDraftNews((all) => all[path]);
  const opened = useConnection((each) => each.opened);
  const looked = useRef(opened);
  const isGone = useRef(false);
  const baseOf = (draft: Draft | null | undefined) => draft ?? (draft === null && fallback !== undefined ? { text: fallback, revision: 0 } : undefined);
  const base = baseOf(asked.data);
  const shown = text ?? base?.text;
  const isSaved = shown === undefined || shown === base?.text;

  /** Nobody has to choose where one side has changed nothing, or both the same. */
  function together(base: string, mine: string, theirs: string): string | undefined {
    if (mine === theirs || base === theirs) return mine;
    return base === mine ? theirs : merging?.merged(base, mine, theirs);
  }

  async function save(what: string): Promise<void> {
    const latest = known.getQueryData<Draft | null>(["draft", path]); // which may be newer than what the page has drawn
    const base = baseOf(latest === undefined ? typed.get(place)?.base : latest);
    try {
      const kept = await ask<Draft>("POST", `${path}/draft`, { body: { text: what, revision: base?.revision ?? 0 } });
      known.setQueryData(["draft", path], kept);
      setError(undefined);
      const more = typed.get(place);
      if (!more || more.text === what) return void typed.delete(place);
      typed.set(place, { ...more, base: kept });
      if (!open.has(place)) await save(more.text); // its person went on while this was saved
    } catch (failed) {
      if (isLost(failed) && !open.has(place)) return later();
      const found = isProblem(failed, "stale") ? await drafted(path).catch(() => undefined) : undefined;
      const mine = open.has(place) ? now.current : typed.get(place)?.text;
      const both = found && base ? together(base.text, mine ?? what, found.text) : undefined;
      if (found && both !== undefined) {
        known.setQueryData(["draft", path], found);
        setText(both);
        setError(undefined);
        if (open.has(place)) return;
        if (both === found.text) return void typed.delete(place); // the answer to an earlier save was lost
        typed.set(place, { text: both, base: found });
        await save(both);
      } else {
        setTheirs(found);
        setError(failed);
      }
    }
  }

  /** Saves what was typed on a page that its person has left, as soon as the server is back. */
  async function later(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    const left = typed.get(place);
    if (left && !open.has(place) && placeNow() === place) await save(left.text);
  }

  /** Does this, unless something is under way: that is looked at again after a pause. */
  function alone<T>(act: () => Promise<T>): Promise<T> | undefined {
    if (under.has(place) || isGone.current) return undefined;
    const made = act().finally(() => under.delete(place));
    under.set(place, made);
    return made;
  }

  async function remove(): Promise<void> {
    while (under.has(place)) await under.get(place)?.catch(() => undefined);
    const revision = known.getQueryData<Draft | null>(["draft", path])?.revision ?? 0;
    await alone(() => ask("DELETE", `${path}/draft`, { query: { revision } }));
    isGone.current = true; // what was typed last is not saved anew
    typed.delete(place);
    known.removeQueries({ queryKey: ["draft", path] });
  }

  function write(next: string): void {
    setText(next);
    if (open.has(place) || isGone.current) return;
    typed.set(place, { text: next, base: known.getQueryData<Draft | null>(["draft", path]) ?? null }); // of a field that told its text as the page went
    void alone(() => save(next));
  }

  /** Goes on with what somebody else has saved; of what both changed, with one side. */
  function settle(side: "mine" | "theirs") {
    if (theirs === undefined || shown === undefined) return;
    const mine = side === "mine" ? shown : undefined;
    setText((theirs && base && merging?.merged(base.text, shown, theirs.text, side)) ?? mine);
    known.setQueryData(["draft", path], theirs);
    setTheirs(undefined);
    setError(undefined);
  }

  const now = useRef(shown);
  useEffect(() => {
    now.current = shown;
  });
  useEffect(() => {
    if (isSaved || shown === undefined || isGone.current) typed.delete(place);
    else typed.set(place, { text: shown, base: asked.data ?? null });
  }, [isSaved, shown, place, asked.data]);
  useEffect(() => {
    // What is not saved yet comes together with the change when it is saved. What was told while no stream was open is missed.
    const isMissed = looked.current !== opened;
    const isNews = news !== undefined && (news.is_gone || news.revision > (base?.revision ?? 0));
    if (!(isNews || isMissed) || !base?.revision || !isSaved || isTyping || under.has(place)) return;
    const ended = new AbortController();
    void drafted(path, ended.signal).then((found) => {
      if (ended.signal.aborted || under.has(place) || now.current !== base.text) return;
      looked.current = opened;
      if (found?.revision === base.revision) return;
      if (!found) return setTheirs(null);
      known.setQueryData(["draft", path], found);
      setText(undefined);
      setTaken({ by: news?.revision === found.revision ? news.by : "" });
    }, () => undefined); // the save will tell why
    return () => ended.abort();
  }, [news, opened, isSaved, isTyping, base?.revision]);
  useEffect(() => {
    if (!isTyping) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isTyping]);

  const isDue = !isSaved && shown !== undefined && theirs === undefined;
  const saveNow = useRef<() => void>(undefined);
  useEffect(() => {
    saveNow.current = isDue ? () => void alone(() => save(shown)) : undefined;
    if (!isDue) return;
    const timer = setInterval(() => saveNow.current?.(), error ? AGAIN_MS : PAUSE_MS);
    return () => clearInterval(timer);
  });
  useEffect(() => {
    open.add(place);
    return () => {
      open.delete(place);
      saveNow.current?.(); // who goes to another page loses nothing
    };
  }, [place]);

  return {
    text: shown,
    isPending: isWanted && asked.isPending,
    revision: base?.revision ?? 0,
    isSaved: isSaved && !isTyping,
    isTyping,
    error: error ?? asked.error,
    theirs,
    taken,
    write,
    typing: setTyping,
    remove,
    conflicts: theirs && base && shown !== undefined ? (merging?.conflicts(base.text, shown, theirs.text) ?? [{ place: "", mine: shown, theirs: theirs.text }]) : [],
    keepMine: () => settle("mine"),
    takeTheirs: () => settle("theirs"),
  };
}
