// One collection: its documents, who reads it, and a search in it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";

import { ask, orNull } from "../../core/api";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Collection, CollectionDetails, FoundPassages } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { TextFilter } from "../../parts/filters";
import { usePress } from "../../parts/press";
import { tell } from "../../parts/status";
import { Documents } from "./documents";
import { Remove } from "./remove";
import { TEXTS } from "./texts";

export function CollectionPage({ name }: { name: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const navigate = useNavigate();
  const path = `/v1/knowledge/${encodeURIComponent(name)}`;
  const found = useQuery({
    queryKey: ["collection", name],
    queryFn: ({ signal }) => ask<CollectionDetails>("GET", path, { signal }).catch(orNull),
  });
  return (
    <Asked query={found}>
      {(it) => (
        <>
          <p>
            <Link to={"/knowledge" as string}>{say("all")}</Link>
          </p>
          <h1>{told(name)}</h1>
          {it === null ? (
            <p>{common("gone")}</p>
          ) : (
            <>
              <p className="hint">
                {say("owner")}: {told(it.owner)} · {say("counts", { documents: it.documents, passages: it.passages })}
              </p>
              {it.unread.map((each) => (
                <p key={each.agent} className="warning">
                  {say("unread", { agent: told(each.agent) })} <code>{told(each.command)}</code>
                </p>
              ))}
              <Search path={path} />
              <Documents path={path} name={name} mayChange={it.may_change} />
              {it.may_change && (
                <>
                  <Readers path={path} collection={it} />
                  <Remove
                    path={path}
                    name={name}
                    onRemoved={() => void known.invalidateQueries({ queryKey: ["collections"] })}
                    onGone={() => {
                      known.removeQueries({ queryKey: ["collection", name] });
                      return navigate({ to: "/knowledge" as string });
                    }}
                  />
                </>
              )}
            </>
          )}
        </>
      )}
    </Asked>
  );
}

function Readers({ path, collection }: { path: string; collection: Collection }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const [typed, setTyped] = useState<string>(); // what somebody else saves meanwhile does not take it away
  const text = typed ?? collection.readers.join(" ");
  const act = usePress({
    mutationFn: (readers: string) => ask<Collection>("PATCH", path, { body: { readers: readers.split(/[\s,，、]+/).filter(Boolean) } }),
    onSuccess: async (_, readers) => {
      tell(say("saved"));
      await known.invalidateQueries({ queryKey: ["collection", collection.name] });
      setTyped((now) => (now === readers ? undefined : now));
    },
  });
  const save = (event: FormEvent) => {
    event.preventDefault();
    act.mutate(text);
  };
  return (
    <form className="card" onSubmit={save}>
      <label>
        {say("readers")}
        <input placeholder={say("alone")} aria-describedby="readers-hint" value={text} onChange={(event) => setTyped(event.target.value)} />
      </label>
      <p id="readers-hint" className="hint">
        {say("readersHint")}
      </p>
      <div className="buttons">
        <button type="submit" aria-disabled={act.isPending}>
          {common("save")}
        </button>
      </div>
      {act.isError && <Failure error={act.error} />}
    </form>
  );
}

function Search({ path }: { path: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const [words, setWords] = useState("");
  const found = useQuery({
    queryKey: ["passages", path, words],
    queryFn: ({ signal }) => ask<FoundPassages>("GET", `${path}/search`, { signal, query: { query: words, limit: 8 } }),
    enabled: words.trim() !== "",
  });
  return (
    <section aria-label={common("search")}>
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <TextFilter type="search" label={common("search")} hint={say("question")} value={words} onChange={setWords} />
      </form>
      {found.isError && <Failure error={found.error} />}
      {found.data && words.trim() !== "" && (found.data.results.length === 0 ? (
        <p className="hint">{say("noFit")}</p>
      ) : (
        <ol className="lines" aria-label={say("results")}>
          {found.data.results.map((each, place) => (
            <li key={place} className="passage">
              <strong>{told(each.title)}</strong>
              <span className="hint">
                {told(each.document)}
                {each.page ? ` · ${say("page", { page: each.page })}` : ""}
                {each.lines ? ` · ${say("lines", { first: each.lines[0] ?? 0, last: each.lines[1] ?? 0 })}` : ""}
              </span>
              <p className="plain">{brief(each.text, 1200)}</p>
            </li>
          ))}
        </ol>
      ))}
    </section>
  );
}
