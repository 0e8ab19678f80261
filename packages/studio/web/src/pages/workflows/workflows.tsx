// The workflows that a person may run: a list with search, a new one by its name, and one workflow in full.
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";

import { useAdministers } from "../../app";
import { ask } from "../../core/api";
import { newWorkflow, type Template, TEMPLATES } from "../../core/flow/templates";
import { useText } from "../../core/language";
import { cut, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Draft, Part, WorkflowLine } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { Filters, TextFilter, useFilters } from "../../parts/filters";
import { page } from "./page";
import { TEXTS } from "./texts";

const WorkflowPage = lazy(() => import("./workflow"));

export default function WorkflowsOrWorkflow() {
  const { workflow } = useParams({ strict: false }) as { workflow?: string };
  const common = useText(COMMON);
  if (!workflow) return <List />;
  return (
    <Suspense fallback={<p className="hint">{common("loading")}</p>}>
      <WorkflowPage key={workflow} name={workflow} />
    </Suspense>
  );
}

function List() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const builds = useAdministers();
  const [isNew, setNew] = useState(false);
  const [filters, filter] = useFilters(["query"] as const);
  const query = useInfiniteQuery({
    queryKey: ["workflows", filters, builds],
    queryFn: ({ signal, pageParam }) =>
      ask<Part<WorkflowLine>>("GET", "/v1/workflows", { signal, query: { ...filters, limit: 50, cursor: pageParam, drafts: builds } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
  });
  const workflows = query.data?.pages.flatMap((each) => each.items);
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
      {isNew && <NewWorkflow />}
      <Asked
        query={{ data: workflows, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say("empty")}</p>)}
      >
        {(found) => (
          <div className="wide">
            <table aria-label={title}>
              <thead>
                <tr>
                  {(["name", "about", "version"] as const).map((each) => (
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
                      <Link to={`/workflows/${encodeURIComponent(each.name)}` as string}>{told(each.name)}</Link>
                    </td>
                    <td>{cut(told(each.description), 160).text}</td>
                    <td>{each.version || (each.digest === "" ? say("draft") : "")}</td>
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

function NewWorkflow() {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [template, setTemplate] = useState<Template>("empty");
  const create = useMutation({
    mutationFn: () => ask<Draft>("POST", `/v1/workflows/${encodeURIComponent(name)}/draft`, { body: { text: newWorkflow(name, template), revision: 0 } }),
    onSuccess: (made) => {
      void known.invalidateQueries({ queryKey: ["workflows"] });
      return navigate({ to: `/workflows/${encodeURIComponent(made.name)}` as string });
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
      <label>
        {say("template")}
        <select value={template} onChange={(event) => setTemplate(event.target.value as Template)}>
          {TEMPLATES.map((each) => (
            <option key={each} value={each}>
              {say(`template_${each}`)}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" className="primary">
        {say("create")}
      </button>
      {create.isError && <Failure error={create.error} />}
    </form>
  );
}
