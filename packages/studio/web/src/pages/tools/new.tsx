// A new tool: something is pasted, read, looked at, and kept as a draft.
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useSession } from "../../app";
import { ask } from "../../core/api";
import { useKept } from "../../core/kept";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import type { Draft, ReadPasted } from "../../core/types";
import { Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";
import { Value } from "../../parts/values";
import { SERVER } from "./servers";
import { TEXTS } from "./texts";

type Item = ReadPasted["items"][number];

export function NewTool() {
  const say = useText(TEXTS);
  const user = useSession().data?.user ?? "";
  const [text, setText] = useKept(JSON.stringify([user, "pasted"]), "");
  const read = usePress({ mutationFn: (text: string) => ask<ReadPasted>("POST", "/v1/definitions/read", { body: { text } }) });
  return (
    <div className="card">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          read.mutate(text);
        }}
      >
        <label>
          {say("paste")}
          <textarea className="code tall" required placeholder={say("pasteHint")} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <button type="submit" className="primary">
          {say("read")}
        </button>
      </form>
      {read.isError && <Failure error={read.error} />}
      {read.data && (
        <ul>
          {read.data.unclear.map((each, place) => (
            <li key={place}>
              {say(`note_${each.code}`, { about: told(each.about) })}{" "}
              {(each.code === "secret" || each.code === "credential") && <Link to={"/settings" as string}>{say("settings")}</Link>}
            </li>
          ))}
        </ul>
      )}
      {read.data?.items.map((each, place) => (
        <Understood key={`${place} ${each.text}`} item={each} />
      ))}
    </div>
  );
}

function Understood({ item }: { item: Item }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(item.name);
  const create = usePress({
    mutationFn: () => ask<Draft>("POST", `/v1/${item.kind}s/${encodeURIComponent(name)}/draft`, { body: { text: named(item, name), revision: 0 } }),
    onSuccess: () => void known.invalidateQueries({ queryKey: [`${item.kind}s`] }),
    then: (made) => navigate({ to: `/tools/${encodeURIComponent(`${item.kind === "server" ? SERVER : ""}${made.name}`)}` as string }),
  });
  if (item.kind !== "tool" && item.kind !== "server") return <p>{say("elsewhere", { kind: say(`kind_${item.kind}`), name: told(item.name) })}</p>;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <p>{say("understood", { kind: say(`kind_${item.kind}`), name: told(item.name) })}</p>
      <Value value={item.text} />
      <label>
        {say("name")}
        <input required value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <button type="submit" className="primary">
        {say("create")}
      </button>
      {create.isError && <Failure error={create.error} />}
    </form>
  );
}

/** The text with another name, where it is JSON; any other text keeps its own, and a check says so. */
function named(item: Item, name: string): string {
  if (name === item.name) return item.text;
  try {
    return JSON.stringify({ ...(JSON.parse(item.text) as object), name }, null, 2);
  } catch {
    return item.text;
  }
}
