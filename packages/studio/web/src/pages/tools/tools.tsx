// The tools that a person may use: a list with search, one tool in full, and a new one out of what is pasted.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";

import { useBuilds } from "../../app";
import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { cut, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Part, Tool } from "../../core/types";
import { Asked } from "../../parts/failure";
import { Filters, TextFilter, useFilters } from "../../parts/filters";
import { NewTool } from "./new";
import { page } from "./page";
import { TEXTS } from "./texts";
import { ToolPage } from "./tool";

export default function ToolsOrTool() {
  const { tool } = useParams({ strict: false }) as { tool?: string };
  return tool ? <ToolPage key={tool} name={tool} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const builds = useBuilds();
  const [isNew, setNew] = useState(false);
  const [filters, filter] = useFilters(["query"] as const);
  const query = useInfiniteQuery({
    queryKey: ["tools", filters, builds],
    queryFn: ({ signal, pageParam }) =>
      ask<Part<Tool>>("GET", "/v1/tools", { signal, query: { ...filters, limit: 50, cursor: pageParam, drafts: builds } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
  });
  const tools = query.data?.pages.flatMap((each) => each.items);
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
      {isNew && <NewTool />}
      <Asked
        query={{ data: tools, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say("empty")}</p>)}
      >
        {(found) => (
          <div className="wide">
            <table aria-label={title}>
              <thead>
                <tr>
                  {(["name", "about", "effects", "version"] as const).map((each) => (
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
                      <Link to={`/tools/${encodeURIComponent(each.name)}` as string}>{told(each.name)}</Link>
                    </td>
                    <td>{cut(told(each.description), 120).text}</td>
                    <td>{each.effects?.join(", ")}</td>
                    <td>{each.version || (each.description === "" && each.effects === null && builds ? say("draft") : "")}</td>
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
