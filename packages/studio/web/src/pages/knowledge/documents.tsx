// The documents of a collection, each with its state; files are added by a button or by dropping them.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState, type DragEvent } from "react";

import { ask } from "../../core/api";
import { base64Of } from "../../core/file";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Document, Part } from "../../core/types";
import { Asked, useReason } from "../../parts/failure";
import { tell } from "../../parts/status";
import { Remove } from "./remove";
import { TEXTS } from "./texts";

interface Row {
  document: string;
  title: string;
  state: "ready" | "reading" | "unreadable";
  problem: string;
}

export function Documents({ path, name, mayChange }: { path: string; name: string; mayChange: boolean }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const query = useInfiniteQuery({
    queryKey: ["documents", name],
    queryFn: ({ signal, pageParam }) => ask<Part<Document>>("GET", `${path}/documents`, { signal, query: { limit: 100, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
  });
  const kept = query.data?.pages.flatMap((each) => each.items);
  const adding = useAdding(path, name);
  const others = (kept ?? []).filter((each) => !adding.rows.some((row) => row.document === each.document));
  const rows: Row[] = [...adding.rows, ...others];
  return (
    <section className="documents" aria-label={say("documents")} {...(mayChange ? adding.dropping : {})} data-over={adding.isOver}>
      <h2>{say("documents")}</h2>
      {mayChange && <Picker onFiles={adding.add} />}
      <Asked query={{ data: kept, error: query.error, refetch: query.refetch }} empty={() => (rows.length ? undefined : <p className="hint">{say("none")}</p>)}>
        {() => (
          <div className="wide">
            <table aria-label={say("documents")}>
              <thead>
                <tr>
                  <th scope="col">{say("document")}</th>
                  <th scope="col">{say("state")}</th>
                  {mayChange && <th scope="col">{say("remove")}</th>}
                </tr>
              </thead>
              <tbody>
                {rows.map((each) => (
                  <DocumentRow key={each.document} row={each} path={path} name={name} mayChange={mayChange} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Asked>
      {query.hasNextPage && (
        <button type="button" onClick={() => void query.fetchNextPage()}>
          {common("more")}
        </button>
      )}
    </section>
  );
}

function DocumentRow({ row, path, name, mayChange }: { row: Row; path: string; name: string; mayChange: boolean }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  return (
    <tr>
      <td className="main">
        <span>{told(row.document)}</span>
        {row.title && row.title !== row.document && <p className="hint">{told(row.title)}</p>}
      </td>
      <td>{row.state === "unreadable" ? say("unreadable", { why: told(row.problem) }) : say(row.state)}</td>
      {mayChange && (
        <td className="when">
          {row.state !== "reading" && (
            <Remove path={`${path}/documents/${pathOf(row.document)}`} name={told(row.document)} what={row.document} onGone={() => anew(known, name)} />
          )}
        </td>
      )}
    </tr>
  );
}

function Picker({ onFiles }: { onFiles: (files: ArrayLike<File>) => void }) {
  const say = useText(TEXTS);
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <div className="buttons">
        <button type="button" onClick={() => picker.current?.click()}>
          {say("addFiles")}
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            onFiles(event.target.files ?? []);
            event.target.value = ""; // the same file may be chosen again
          }}
        />
      </div>
      <p className="hint">{say("drop")}</p>
    </>
  );
}

/** Files that are being read, one after the other, and those of them that the server refused. */
function useAdding(path: string, name: string) {
  const say = useText(TEXTS);
  const reason = useReason();
  const known = useQueryClient();
  const [rows, setRows] = useState<Row[]>([]);
  const [isOver, setOver] = useState(false);
  const last = useRef<Promise<void>>(Promise.resolve());
  const put = async (file: File) => {
    const others = (all: Row[]) => all.filter((each) => each.document !== file.name);
    let row: Row;
    try {
      row = await ask<Document>("PUT", `${path}/documents/${pathOf(file.name)}`, { body: { data: await base64Of(file) } });
      await anew(known, name);
      setRows(others);
    } catch (error) {
      row = { document: file.name, title: "", state: "unreadable", problem: reason(error) };
      setRows((all) => [row, ...others(all)]);
    }
    tell(say("added", { name: told(file.name), state: row.state === "ready" ? say("ready") : say("unreadable", { why: row.problem }) }));
  };
  const add = (files: ArrayLike<File>) => {
    const given = Array.from(files);
    const reading = given.map((file): Row => ({ document: file.name, title: "", state: "reading", problem: "" }));
    setRows((all) => [...reading, ...all.filter((each) => !reading.some((row) => row.document === each.document))]);
    for (const file of given) last.current = last.current.then(() => put(file));
  };
  const dropping = {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      add(event.dataTransfer.files);
    },
  };
  return { rows, add, dropping, isOver };
}

async function anew(known: ReturnType<typeof useQueryClient>, name: string): Promise<void> {
  await Promise.all(["documents", "collection"].map((each) => known.invalidateQueries({ queryKey: [each, name] })));
}

function pathOf(document: string): string {
  return document.split("/").map(encodeURIComponent).join("/");
}
