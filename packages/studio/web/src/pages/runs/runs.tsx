// What ran: a list with filters that stand in the address, and one run in full.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";

import { ask } from "../../core/api";
import { dictionary, usePreferences, useText } from "../../core/language";
import { cut, span, told, time } from "../../core/shown";
import { COMMON, stateKey, type State } from "../../core/texts";
import type { Part, Run } from "../../core/types";
import { Asked } from "../../parts/failure";
import { StateText } from "../../parts/values";
import { RunPage } from "./run";
import { page } from "./page";

const TEXTS = dictionary(
  {
    status: "Status",
    any: "any",
    agent: "Agent",
    question: "Question",
    who: "Who",
    began: "Began",
    took: "Took",
    empty: "No run fits. Ask something in Chat, or leave a filter out.",
  },
  {
    status: "状态",
    any: "任意",
    agent: "智能体",
    question: "问题",
    who: "谁",
    began: "开始",
    took: "用时",
    empty: "没有符合条件的运行。可以在“对话”中提问，或去掉一个筛选条件。",
  },
);

const STATUSES: readonly State[] = ["waiting", "running", "done", "stopped", "failed", "interrupted"];
type Filters = Partial<Record<"status" | "agent", string>>;

export default function Runs() {
  const { run } = useParams({ strict: false }) as { run?: string };
  return run ? <RunPage run={run} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const query = useInfiniteQuery({
    queryKey: ["runs", filters],
    queryFn: ({ signal, pageParam }) =>
      ask<Part<Run>>("GET", "/v1/runs", { signal, query: { ...filters, limit: 50, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
  });

  function filter(name: keyof Filters, value: string) {
    const next: Filters = { ...filters };
    if (value) next[name] = value;
    else delete next[name];
    void navigate({ to: "." as string, search: next as never, replace: true });
  }

  const runs = query.data?.pages.flatMap((each) => each.items);
  return (
    <>
      <h1>{title}</h1>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          {say("status")}
          <select value={filters.status ?? ""} onChange={(event) => filter("status", event.target.value)}>
            <option value="">{say("any")}</option>
            {STATUSES.map((each) => (
              <option key={each} value={each}>
                {common(stateKey(each))}
              </option>
            ))}
          </select>
        </label>
        <label>
          {say("agent")}
          <input value={filters.agent ?? ""} onChange={(event) => filter("agent", event.target.value)} />
        </label>
      </form>
      <Asked
        query={{ data: runs, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say("empty")}</p>)}
      >
        {(found) => (
          <div className="wide">
            <table aria-label={title}>
              <thead>
                <tr>
                  {(["question", "status", "agent", "who", "began", "took"] as const).map((each) => (
                    <th key={each} scope="col">
                      {say(each)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {found.map((each) => (
                  <tr key={each.id}>
                    <td>
                      <Link to={`/runs/${each.id}` as string}>{cut(told(each.question), 120).text || each.id.slice(0, 12)}</Link>
                    </td>
                    <td>
                      <StateText state={each.status} />
                    </td>
                    <td>{told(each.agent)}</td>
                    <td>{told(each.principal)}</td>
                    <td>{time(each.started, language)}</td>
                    <td>{each.ended === null ? "" : span(each.ended - each.started)}</td>
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
