// What happens, as it happens: the feed of this browser, what pages know of a run, and lists that are asked for anew.
import { useQueryClient, type Query, type QueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { create } from "zustand";

import { isLost, send } from "./api";
import { Feed, type FeedEvent, type Message, type Ports } from "./feed";
import { NOTHING, type Followed } from "./followed";
import type { DraftNews } from "./types";

const NAME = "actum.feed";
/** Lists are asked for anew at most so often. */
const AGAIN_MS = 400;
/** What changes with a run. */
const LISTS = ["runs", "runs of", "run", "sessions", "audit", "memories", "experiments"] as const;
/** What changes with a draft. */
const DEFINITIONS = ["tools", "servers", "agents", "workflows"] as const;
const NEVER = new AbortController().signal;
/** A server says something each 15 s. A connection that has said nothing for so long is gone, as behind a sleep of this machine. */
const SILENT_MS = 45_000;

const ports: Ports = {
  tab: Math.random().toString(36).slice(2),
  join(hear) {
    if (typeof BroadcastChannel === "undefined") return { post: () => undefined, close: () => undefined };
    const channel = new BroadcastChannel(NAME);
    channel.onmessage = (event: MessageEvent<Message>) => hear(event.data);
    return { post: (message) => channel.postMessage(message), close: () => channel.close() };
  },
  alone(work, signal) {
    // A page that is not served securely has no locks: each of its tabs reads a stream of its own.
    const done = navigator.locks ? navigator.locks.request(NAME, { signal }, work) : work();
    done.catch((error: unknown) => signal.aborted || Promise.reject(error));
  },
  open: async (query, signal) => {
    const silent = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENT_MS);
    };
    heard();
    const answer = await send("GET", "/v1/events", { query, signal: AbortSignal.any([signal, silent.signal]) }).finally(() => clearTimeout(timer));
    heard();
    const pieces = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({ transform: (piece, reader) => (heard(), reader.enqueue(piece)), flush: () => clearTimeout(timer) });
    return new Response(answer.body?.pipeThrough(pieces));
  },
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    }),
};

const feed = new Feed(ports);

/** Whether the connection to the server is lost, and how often its stream was opened: what happened before was not told. */
export const useConnection = create<{ isLost: boolean; opened: number }>(() => ({ isLost: false, opened: 0 }));

/** The latest change of each draft, by its path in the API. */
export const useDraftNews = create<Readonly<Record<string, DraftNews>>>(() => ({}));

/** What is known of a run, as it goes on. */
export function useRun(run: string): Followed {
  return useSyncExternalStore(
    useCallback((hear: () => void) => (run ? feed.follow(run, hear) : () => undefined), [run]),
    () => (run ? feed.known(run) : NOTHING),
  );
}

/** Keep all lists of this tab up to date while somebody is signed in. */
export function useFeed(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const leave = feed.listen(keeper(queries));
    const show = (event: PageTransitionEvent) => event.persisted && feed.start();
    const hide = () => feed.stop();
    addEventListener("pagehide", hide);
    addEventListener("pageshow", show);
    feed.start();
    return () => {
      removeEventListener("pagehide", hide);
      removeEventListener("pageshow", show);
      leave();
      feed.stop();
    };
  }, [queries]);
}

/** Asks for a list anew. What is asked already goes on, or no list would ever come while news do, nor what somebody pressed. */
function asker(queries: QueryClient): (list: string) => void {
  const [due, under] = [new Set<string>(), new Set<string>()];
  const ask = async (list: string): Promise<void> => {
    under.add(list);
    await ports.wait(AGAIN_MS, NEVER);
    due.delete(list);
    const asked = queries.getQueryCache().findAll({ queryKey: [list], fetchStatus: "fetching" });
    await Promise.allSettled(asked.map((each) => each.promise));
    await queries.invalidateQueries({ queryKey: [list] });
    under.delete(list);
    if (due.has(list)) await ask(list);
  };
  return (list) => {
    due.add(list);
    if (!under.has(list)) void ask(list);
  };
}

/** Hears the feed and asks for what has changed. */
function keeper(queries: QueryClient): (event: FeedEvent) => void {
  const again = asker(queries);
  return (event) => {
    if (event.kind === "approvals") {
      void queries.cancelQueries({ queryKey: ["approvals"], exact: true }); // an answer of before would take the place of the news
      queries.setQueryData(["approvals"], event.approvals);
      void queries.invalidateQueries({ queryKey: ["approvals"], predicate: (each) => each.queryKey.length > 1 });
    } else if (event.kind === "draft") {
      const { kind, name } = event.draft;
      useDraftNews.setState({ [`/v1/${kind}s/${encodeURIComponent(name)}`]: event.draft });
      again(`${kind}s`);
    } else if (event.kind === "run") LISTS.forEach(again);
    else if (event.kind === "refused") void queries.invalidateQueries({ queryKey: ["session"] });
    else if (event.kind === "lost") useConnection.setState({ isLost: true });
    else if (event.kind === "open") {
      useConnection.setState(({ opened }) => ({ isLost: false, opened: opened + 1 }));
      [...LISTS, ...DEFINITIONS].forEach(again);
      const failed = { type: "active", predicate: ({ state }: Query) => isLost(state.error) } as const;
      void queries.refetchQueries(failed, { cancelRefetch: false }); // as the server was away
    }
  };
}
