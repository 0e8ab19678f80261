// What happens in a run, as it happens: the entries of its record, and the words that a model is saying.
import { useEffect, useReducer } from "react";

import { isProblem, send } from "./api";
import { events } from "./sse";
import { isLast } from "./turns";
import type { Delta, RunEvent } from "./types";

/** What is known of a run: its entries by number, and the words that are not on record yet. */
export interface Followed {
  entries: RunEvent[];
  words: string;
  isLost: boolean;
}

export type News = { entry: RunEvent } | { words: string; isAnew: boolean } | { lost: boolean } | { run: string };

const NOTHING: Followed = { entries: [], words: "", isLost: false };

/** One more piece of news. An entry that is known already changes nothing; a reply on record takes the place of its words. */
export function taken(known: Followed, news: News): Followed {
  if ("run" in news) return NOTHING;
  if ("lost" in news) return { ...known, words: "", isLost: news.lost }; // the words so far come again
  if ("words" in news) return { ...known, words: (news.isAnew ? "" : known.words) + news.words };
  const { entry } = news;
  if (known.entries.some((each) => each.number === entry.number)) return known;
  const entries = [...known.entries, entry].sort((one, other) => one.number - other.number);
  return { entries, words: entry.type === "model_replied" || entry.type === "ended" ? "" : known.words, isLost: false };
}

/** How long to wait before asking again, the first time and at most. */
const AGAIN_MS = [500, 8_000] as const;

/** Follow a run until its end, again from the last entry where the connection was lost. */
export function useRun(run: string): Followed {
  const [known, tell] = useReducer(taken, NOTHING);
  useEffect(() => {
    tell({ run });
    if (!run) return;
    const left = new AbortController();
    void follow(run, tell, left.signal);
    return () => left.abort();
  }, [run]);
  return known;
}

async function follow(run: string, tell: (news: News) => void, signal: AbortSignal): Promise<void> {
  let last = -1;
  let wait: number = AGAIN_MS[0];
  while (!signal.aborted) {
    try {
      const query = { deltas: true, after: last < 0 ? undefined : last };
      const answer = await send("GET", `/v1/runs/${encodeURIComponent(run)}/events`, { signal, query });
      if (answer.status === 204) return;
      tell({ lost: false });
      wait = AGAIN_MS[0];
      for await (const event of events(answer)) {
        if (event.name === "delta") {
          const said = JSON.parse(event.data) as Delta;
          tell({ words: said.text, isAnew: said.is_anew });
          continue;
        }
        const entry = JSON.parse(event.data) as RunEvent;
        last = Math.max(last, entry.number);
        tell({ entry });
        if (isLast(entry)) return;
      }
    } catch (error) {
      if (signal.aborted || (isProblem(error) && error.status >= 400 && error.status < 500 && error.status !== 429)) return;
    }
    tell({ lost: true });
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, AGAIN_MS[1]);
  }
}

