// What ran: a list with filters that stand in the address, and one run in full.
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";

import { ask } from "../../core/api";
import { dictionary, usePreferences, useText } from "../../core/language";
import { cut, span, told, time } from "../../core/shown";
import { COMMON, stateKey, type State } from "../../core/texts";
import type { Part, Run } from "../../core/types";
import { Asked } from "../../parts/failure";
import { Filters, TextFilter, TimeFilters, useFilters } from "../../parts/filters";
import { StateText } from "../../parts/values";
import { RunPage } from "./run";
import { page } from "./page";

const TEXTS = dictionary(
  {
    status: "Status",
    any: "any",
    agent: "Agent",
    tool: "Tool",
    error: "Error",
    version: "Version",
    kind: "Kind",
    kind_agent: "questions",
    kind_call: "calls",
    kind_workflow: "workflows",
    kind_administration: "administration",
    question: "Question",
    who: "Who",
    began: "Began",
    took: "Took",
    words: "words of the question",
    paused: "waiting, paused",
    empty: "No run fits. Ask something in Chat, or leave a filter out.",
  },
  {
    status: "状态",
    any: "任意",
    agent: "智能体",
    tool: "工具",
    error: "错误",
    version: "版本",
    kind: "类型",
    kind_agent: "提问",
    kind_call: "调用",
    kind_workflow: "工作流",
    kind_administration: "管理",
    question: "问题",
    who: "谁",
    began: "开始",
    took: "用时",
    words: "问题中的词语",
    paused: "等待中（已暂停）",
    empty: "没有符合条件的运行。可以在“对话”中提问，或去掉一个筛选条件。",
  },
);

const STATUSES: readonly State[] = ["running", "waiting", "paused", "interrupted", "done", "stopped", "failed"];
const KINDS = ["agent", "call", "workflow", "administration"] as const;
const NAMES = ["text", "status", "agent", "tool", "error", "kind", "version", "since", "until"] as const;

interface Runs extends Part<Run> {
  counts?: Record<string, string> | null;
}

export default function RunsOrRun() {
  const { run } = useParams({ strict: false }) as { run?: string };
  return run ? <RunPage run={run} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const [filters, filter] = useFilters(NAMES);
  const query = useInfiniteQuery({
    queryKey: ["runs", filters],
    queryFn: ({ signal, pageParam }) =>
      ask<Runs>("GET", "/v1/runs", { signal, query: { ...filters, counts: pageParam ? "" : "status", limit: 50, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });
  // What administrators did is in the audit; here it stands where somebody asks for it.
  const isSeen = (run: Run) => run.kind !== "administration" || filters.kind === "administration";
  const runs = query.data?.pages.flatMap((each) => each.items).filter(isSeen);
  return (
    <>
      <h1>{title}</h1>
      <Filters>
        <TextFilter type="search" label={common("search")} hint={say("words")} value={filters.text ?? ""} onChange={(text) => filter("text", text)} />
        <label>
          {say("status")}
          <select value={filters.status ?? ""} onChange={(event) => filter("status", event.target.value)}>
            <option value="">{say("any")}</option>
            {STATUSES.map((each) => (
              <option key={each} value={each}>
                {each === "paused" ? say("paused") : common(stateKey(each))}
              </option>
            ))}
          </select>
        </label>
        {(["agent", "tool", "error"] as const).map((name) => (
          <TextFilter key={name} label={say(name)} value={filters[name] ?? ""} onChange={(value) => filter(name, value)} />
        ))}
        <label>
          {say("kind")}
          <select value={filters.kind ?? ""} onChange={(event) => filter("kind", event.target.value)}>
            <option value="">{say("any")}</option>
            {KINDS.map((each) => (
              <option key={each} value={each}>
                {say(`kind_${each}`)}
              </option>
            ))}
          </select>
        </label>
        <TextFilter type="number" label={say("version")} value={filters.version ?? ""} onChange={(value) => filter("version", value)} />
        <TimeFilters since={filters.since} until={filters.until} onChange={filter} />
      </Filters>
      {Object.keys(filters).length > 0 && <Counts counts={query.data?.pages[0]?.counts ?? {}} />}
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
                    <td className="main">
                      <Link to={`/runs/${each.id}` as string}>{cut(told(each.question), 120).text || each.id.slice(0, 12)}</Link>
                    </td>
                    <td>
                      <StateText state={each.status} />
                    </td>
                    <td>{told(each.agent)}</td>
                    <td>{told(each.principal)}</td>
                    <td className="when">{time(each.started, language)}</td>
                    <td className="when">{each.ended === null ? "" : span(each.ended - each.started)}</td>
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

/** How many of the runs that fit stand in which way. */
function Counts({ counts }: { counts: Record<string, string> }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = STATUSES.filter((each) => Object.hasOwn(counts, each));
  if (!known.length) return null;
  const name = (each: State) => (each === "paused" ? say("paused") : common(stateKey(each)));
  return <p className="hint">{known.map((each) => `${name(each)} ${counts[each]}`).join(" · ")}</p>;
}
