// The documents of a collection, each with its state; files are added by a button or by dropping them.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { ask } from "../../core/api";
import { base64Of } from "../../core/file";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import type { Document } from "../../core/types";
import { useReason } from "../../parts/failure";
import { FileButton, useDropping } from "../../parts/files";
import { type Column, ListTable, useList } from "../../parts/list";
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
  const known = useQueryClient();
  const list = useList<Document>(["documents", name], `${path}/documents`);
  const adding = useAdding(path, name);
  const others = list.items?.filter((each) => !adding.rows.some((row) => row.document === each.document));
  const gone = (document: string) => {
    adding.leaveOut(document); // one that could not be added is in no list of the server
    return anew(known, name);
  };
  const remove: Column<Row> = [
    say("remove"),
    ({ document, state }) => state !== "reading" && <Remove path={`${path}/documents/${pathOf(document)}`} name={told(document)} what={document} onRemoved={() => gone(document)} />,
    "when",
  ];
  return (
    <section className="documents" aria-label={say("documents")} {...(mayChange ? adding.dropping : {})} data-over={adding.isOver}>
      <h2>{say("documents")}</h2>
      {mayChange && (
        <>
          <div className="buttons">
            <FileButton label={say("addFiles")} onFiles={adding.add} />
          </div>
          <p className="hint">{say("drop")}</p>
        </>
      )}
      <ListTable<Row>
        list={{ ...list, items: others || adding.rows.length ? [...adding.rows, ...(others ?? [])] : undefined }}
        label={say("documents")}
        keyOf={(each) => each.document}
        empty={say("none")}
        columns={[
          [say("document"), (each) => <Titled row={each} />, "main"],
          [say("state"), (each) => (each.state === "unreadable" ? say("unreadable", { why: told(each.problem) }) : say(each.state))],
          ...(mayChange ? [remove] : []),
        ]}
      />
    </section>
  );
}

function Titled({ row }: { row: Row }) {
  return (
    <>
      <span>{told(row.document)}</span>
      {row.title && row.title !== row.document && <p className="hint">{told(row.title)}</p>}
    </>
  );
}

/** Files that are being read, one after the other, and those of them that the server refused. */
function useAdding(path: string, name: string) {
  const say = useText(TEXTS);
  const reason = useReason();
  const known = useQueryClient();
  const [rows, setRows] = useState<Row[]>([]);
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
  const add = (given: readonly File[]) => {
    const reading = given.map((file): Row => ({ document: file.name, title: "", state: "reading", problem: "" }));
    setRows((all) => [...reading, ...all.filter((each) => !reading.some((row) => row.document === each.document))]);
    for (const file of given) last.current = last.current.then(() => put(file));
  };
  const leaveOut = (document: string) => setRows((all) => all.filter((each) => each.document !== document));
  return { rows, add, leaveOut, ...useDropping(add) };
}

async function anew(known: ReturnType<typeof useQueryClient>, name: string): Promise<void> {
  void known.invalidateQueries({ queryKey: ["passages"] }); // what is searched for may stand in it
  await Promise.all(["documents", "collection"].map((each) => known.invalidateQueries({ queryKey: [each, name] })));
}

function pathOf(document: string): string {
  return document.split("/").map(encodeURIComponent).join("/");
}
