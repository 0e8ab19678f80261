// The agents that a person may ask: a list with search, a new one by its name, and one agent in full.
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";

import { useBuilds } from "../../app";
import { newAgent } from "../../core/agent";
import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { cut, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Agent, Draft, Part } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { Filters, TextFilter, useFilters } from "../../parts/filters";
import { AgentPage } from "./agent";
import { page } from "./page";
import { TEXTS } from "./texts";

export default function AgentsOrAgent() {
  const { agent } = useParams({ strict: false }) as { agent?: string };
  return agent ? <AgentPage key={agent} name={agent} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const builds = useBuilds();
  const [isNew, setNew] = useState(false);
  const [filters, filter] = useFilters(["query"] as const);
  const query = useInfiniteQuery({
    queryKey: ["agents", filters, builds],
    queryFn: ({ signal, pageParam }) =>
      ask<Part<Agent>>("GET", "/v1/agents", { signal, query: { ...filters, limit: 50, cursor: pageParam, drafts: builds } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
  });
  const agents = query.data?.pages.flatMap((each) => each.items);
  return (
    <>
      <h1>{title}</h1>
      <Filters>
        <TextFilter type="search" label={common("search")} hint={say("words")} value={filters.query ?? ""} onChange={(text) => filter("query", text)} />
      </Filters>
      {builds && (
        <div className="buttons">
          <button type="button" aria-expanded={isNew} onClick={() => setNew(!isNew)}>
            {say("new")}
          </button>
        </div>
      )}
      {isNew && <NewAgent />}
      <Asked
        query={{ data: agents, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say("empty")}</p>)}
      >
        {(found) => (
          <div className="wide">
            <table aria-label={title}>
              <thead>
                <tr>
                  {(["name", "about", "model", "version"] as const).map((each) => (
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
                      <Link to={`/agents/${encodeURIComponent(each.name)}` as string}>{told(each.name)}</Link>
                    </td>
                    <td>{cut(told(each.description), 120).text}</td>
                    <td>{told(each.model)}</td>
                    <td>{each.version || (each.description === "" && each.model === "" && builds ? say("draft") : "")}</td>
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

function NewAgent() {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => ask<Draft>("POST", `/v1/agents/${encodeURIComponent(name)}/draft`, { body: { text: newAgent(name), revision: 0 } }),
    onSuccess: (made) => {
      void known.invalidateQueries({ queryKey: ["agents"] });
      return navigate({ to: `/agents/${encodeURIComponent(made.name)}` as string });
    },
  });
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <label>
        {say("name")}
        <input required placeholder={say("nameHint")} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <button type="submit" className="primary">
        {say("create")}
      </button>
      {create.isError && <Failure error={create.error} />}
    </form>
  );
}
