// What is known of a run while it goes on: the entries of its record, and the words that a model is saying.
import { isLast } from "./turns";
import type { Delta, RunEvent } from "./types";

/** What is known of a run: its entries by number, and the words that are not on record yet. */
export interface Followed {
  entries: readonly RunEvent[];
  words: string;
}

export type News = { entry: RunEvent } | { delta: Pick<Delta, "text" | "is_anew"> } | { lost: true };

export const NOTHING: Followed = { entries: [], words: "" };

/** One more piece of news. An entry that is known already changes nothing; a reply on record takes the place of its words. */
export function taken(known: Followed, news: News): Followed {
  if ("lost" in news) return known.words ? { ...known, words: "" } : known; // the words so far come again
  if ("delta" in news) return { ...known, words: (news.delta.is_anew ? "" : known.words) + news.delta.text };
  const { entry } = news;
  if (known.entries.some((each) => each.number === entry.number)) return known;
  const entries = [...known.entries, entry].sort((one, other) => one.number - other.number);
  return { entries, words: endsWords(entry) ? "" : known.words };
}

/** Whether the words so far are on record with this entry, or never will be. */
export function endsWords(entry: RunEvent): boolean {
  return entry.type === "model_replied" || entry.type === "ended";
}

/** The number of the last entry that is known. */
export function latest(known: Followed): number {
  return known.entries.at(-1)?.number ?? -1;
}

/** Whether no more is to be asked for, as far as the entries say. */
export function isOver(known: Followed): boolean {
  const last = known.entries.at(-1);
  return last !== undefined && isLast(last);
}
