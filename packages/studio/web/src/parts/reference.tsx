// A reference in an answer: a button that shows the quote and its source, and opens the kept text at that place.
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useId, useState, type ReactNode } from "react";

import { ask } from "../core/api";
import type { Cited } from "../core/cited";
import { dictionary, useText } from "../core/language";
import { told } from "../core/shown";
import type { ReferenceText } from "../core/types";
import { Failure } from "./failure";

const TEXTS = dictionary(
  {
    reference: "Reference {number}",
    noSource: "no source",
    page: "page {page}",
    lines: "lines {first} to {last}",
    open: "Open the text",
    close: "Close the text",
    failed: "These words do not stand in the kept text any more.",
  },
  {
    reference: "引用 {number}",
    noSource: "没有来源",
    page: "第 {page} 页",
    lines: "第 {first} 到 {last} 行",
    open: "打开原文",
    close: "关闭原文",
    failed: "保存的原文里已没有这些文字。",
  },
);

/** The references that may stand in the texts inside, by number. */
export const CitedContext = createContext<ReadonlyMap<number, Cited>>(new Map());

/** `children`: what is there where the run has no such reference. */
export function Reference({ number, children }: { number: number; children?: ReactNode }) {
  const say = useText(TEXTS);
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const found = useContext(CitedContext).get(number);
  if (number === 0) return <span className="unbacked">[{say("noSource")}]</span>;
  if (!found) return <>{children}</>;
  return (
    <span className="cited" onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
      <button type="button" className="quiet" aria-label={say("reference", { number })} aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        [{number}]
      </button>
      <span id={id} hidden={!isOpen}>
        {isOpen && <Card cited={found} />}
      </span>
    </span>
  );
}

/** Brings an element into view when it comes, and not each time that it is drawn. */
function showOnce(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

function Card({ cited: { run, reference } }: { cited: Cited }) {
  const say = useText(TEXTS);
  const [isRead, setRead] = useState(false);
  const { page, lines } = reference.place;
  const text = useQuery({
    queryKey: ["reference", run, reference.number],
    queryFn: ({ signal }) => ask<ReferenceText>("GET", `/v1/runs/${encodeURIComponent(run)}/references/${reference.number}`, { signal }),
    enabled: isRead,
  });
  return (
    <span className="card source" role="group" aria-label={say("reference", { number: reference.number })}>
      <q>{told(reference.quote)}</q>
      <span className="hint">
        {told(reference.title)} · {told(reference.address)}
        {page ? ` · ${say("page", { page })}` : ""}
        {lines ? ` · ${say("lines", { first: lines[0] ?? 0, last: lines[1] ?? 0 })}` : ""}
      </span>
      {!reference.verified && <span className="warning">{say("failed")}</span>}
      <button type="button" onClick={() => setRead(!isRead)}>
        {say(isRead ? "close" : "open")}
      </button>
      {isRead && text.isError && <Failure error={text.error} />}
      {isRead && text.data && (
        <span className="kept" role="document" tabIndex={0} aria-label={told(reference.title)}>
          {told(text.data.before)}
          <mark ref={showOnce}>{told(reference.quote)}</mark>
          {told(text.data.behind)}
        </span>
      )}
    </span>
  );
}
