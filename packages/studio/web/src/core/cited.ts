// References in an answer: `[1]` for a quote, `[?]` for words that no source backs.
import { useQueries } from "@tanstack/react-query";

import { ask } from "./api";
import type { QuoteReference } from "./types";

const CITED = /\[([1-9]\d{0,3}|\?)\]/g;

/** A reference of a run. */
export interface Cited {
  run: string;
  reference: QuoteReference;
}

/** A text in pieces: words, the numbers of references, and 0 for the mark of words without a source. */
export function citedIn(text: string): (string | number)[] {
  const found: (string | number)[] = [];
  let at = 0;
  for (const each of text.matchAll(CITED)) {
    if (each.index > at) found.push(text.slice(at, each.index));
    found.push(each[1] === "?" ? 0 : Number(each[1]));
    at = each.index + each[0].length;
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}

/** The references of some runs of a conversation, by number: a number never means two things in one conversation. */
export function useCited(runs: readonly string[], isWanted: boolean): Map<number, Cited> {
  return useQueries({
    queries: runs.map((run) => ({
      queryKey: ["references", run],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        ask<{ references: QuoteReference[] }>("GET", `/v1/runs/${encodeURIComponent(run)}/references`, { signal }),
      enabled: isWanted,
    })),
    combine: (all) =>
      new Map(all.flatMap(({ data }, place) => (data?.references ?? []).map((each) => [each.number, { run: runs[place] ?? "", reference: each }] as const))),
  });
}
