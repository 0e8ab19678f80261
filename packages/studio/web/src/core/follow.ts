// What happens, as it happens: the feed of this browser, what pages know of a run, and lists that are asked for anew.
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { create } from "zustand";

import { send } from "./api";
import { Feed, type FeedEvent, type Message, type Ports } from "./feed";
import { NOTHING, type Followed } from "./followed";

const NAME = "actum.feed";
/** Lists are asked for anew at most so often. */
const AGAIN_MS = 400;
/** What changes with a run. */
const LISTS = ["runs", "runs of", "run", "sessions", "audit", "memories", "experiments"] as const;

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
  open: (query, signal) => send("GET", "/v1/events", { query, signal }),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    }),
};

const feed = new Feed(ports);

/** Whether the connection to the server is lost. */
export const useConnection = create<{ isLost: boolean }>(() => ({ isLost: false }));

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

/** Hears the feed and asks for what has changed. */
function keeper(queries: QueryClient): (event: FeedEvent) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const again = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      for (const list of LISTS) void queries.invalidateQueries({ queryKey: [list] });
    }, AGAIN_MS);
  };
  return (event) => {
    if (event.kind === "approvals") queries.setQueryData(["approvals"], event.approvals);
    else if (event.kind === "run") again();
    else if (event.kind === "refused") void queries.invalidateQueries({ queryKey: ["session"] });
    else if (event.kind === "lost") useConnection.setState({ isLost: true });
    else if (event.kind === "open") {
      useConnection.setState({ isLost: false });
      again();
    }
  };
}
