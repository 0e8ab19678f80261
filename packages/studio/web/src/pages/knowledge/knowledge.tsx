// The collections of documents that a person may read: a list, a new one, and one in full.
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";

import { useSession } from "../../app";
import { ask } from "../../core/api";
import { usePreferences, useText } from "../../core/language";
import { time, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Collection, Part } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { CollectionPage } from "./collection";
import { page } from "./page";
import { TEXTS } from "./texts";

export default function Knowledge() {
  const { collection } = useParams({ strict: false }) as { collection?: string };
  return collection ? <CollectionPage key={collection} name={collection} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const scopes = useSession().data?.scopes ?? [];
  const [isNew, setNew] = useState(false);
  const query = useInfiniteQuery({
    queryKey: ["collections"],
    queryFn: ({ signal, pageParam }) => ask<Part<Collection>>("GET", "/v1/knowledge", { signal, query: { limit: 50, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
  });
  const collections = query.data?.pages.flatMap((each) => each.items);
  return (
    <>
      <h1>{title}</h1>
      <p className="hint">{say("about")}</p>
      {(scopes.includes("documents") || scopes.includes("admin")) && (
        <div className="buttons">
          <button type="button" aria-expanded={isNew} onClick={() => setNew(!isNew)}>
            {say("new")}
          </button>
        </div>
      )}
      {isNew && <NewCollection />}
      <Asked
        query={{ data: collections, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say("empty")}</p>)}
      >
        {(found) => (
          <div className="wide">
            <table aria-label={title}>
              <thead>
                <tr>
                  {(["name", "owner", "readers", "documents", "updated"] as const).map((each) => (
                    <th key={each} scope="col">
                      {say(each)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {found.map((each) => (
                  <tr key={each.name}>
                    <td className="main">
                      <Link to={`/knowledge/${encodeURIComponent(each.name)}` as string}>{each.name}</Link>
                    </td>
                    <td>{told(each.owner)}</td>
                    <td>{each.readers.length ? told(each.readers.join(" ")) : say("alone")}</td>
                    <td>{each.documents}</td>
                    <td className="when">{each.updated_at ? time(each.updated_at, language) : ""}</td>
                  </tr>
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
    </>
  );
}

/** Asks for the name of a collection and leads to what was made. */
function NewCollection() {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const act = useMutation({
    mutationFn: () => ask<Collection>("POST", "/v1/knowledge", { body: { name: name.trim() } }),
    onSuccess: async (made) => {
      await known.invalidateQueries({ queryKey: ["collections"] });
      await navigate({ to: `/knowledge/${encodeURIComponent(made.name)}` as string });
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    act.mutate();
  };
  return (
    <form className="card" onSubmit={send}>
      <label>
        {say("name")}
        <input autoFocus required placeholder={say("nameHint")} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <div className="buttons">
        <button type="submit" className="primary" disabled={act.isPending}>
          {say("create")}
        </button>
      </div>
      {act.isError && <Failure error={act.error} />}
    </form>
  );
}
