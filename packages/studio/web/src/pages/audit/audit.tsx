// Who did what, why it was allowed, and what came of it.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";

import { ask } from "../../core/api";
import { dictionary, usePreferences, useText } from "../../core/language";
import { cut, told, time } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { AuditLine, Part } from "../../core/types";
import { Asked } from "../../parts/failure";
import { page } from "./page";

const TEXTS = dictionary(
  {
    at: "Time",
    who: "Who",
    tool: "Tool",
    decision: "Decision",
    rule: "Rule",
    outcome: "Outcome",
    arguments: "Arguments",
    run: "Run",
    empty: "Nothing is on record that fits. Leave a filter out to see more.",
    any: "any",
  },
  {
    at: "时间",
    who: "谁",
    tool: "工具",
    decision: "决定",
    rule: "规则",
    outcome: "结果",
    arguments: "参数",
    run: "运行",
    empty: "没有符合条件的记录。去掉一个筛选条件可以看到更多。",
    any: "任意",
  },
);

const FILTERS = ["principal", "tool", "decision"] as const;
const DECISIONS = ["allowed", "denied", "asked", "approved", "refused", "done", "failed", "administered"];

type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export default function Audit() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const query = useInfiniteQuery({
    queryKey: ["audit", filters],
    queryFn: ({ signal, pageParam }) =>
      ask<Part<AuditLine>>("GET", "/v1/audit", { signal, query: { ...filters, limit: 50, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
  });

  function filter(name: keyof Filters, value: string) {
    const next: Filters = { ...filters };
    if (value) next[name] = value;
    else delete next[name];
    void navigate({ to: "." as string, search: next as never, replace: true });
  }

  const lines = query.data?.pages.flatMap((each) => each.items);
  return (
    <>
      <h1>{title}</h1>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {(["principal", "tool"] as const).map((name) => (
          <label key={name}>
            {say(name === "principal" ? "who" : "tool")}
            <input value={filters[name] ?? ""} onChange={(event) => filter(name, event.target.value)} />
          </label>
        ))}
        <label>
          {say("decision")}
          <select value={filters.decision ?? ""} onChange={(event) => filter("decision", event.target.value)}>
            <option value="">{say("any")}</option>
            {DECISIONS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </form>
      <Asked
        query={{ data: lines, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say("empty")}</p>)}
      >
        {(found) => (
          <div className="wide">
            <table aria-label={title}>
              <thead>
                <tr>
                  {(["at", "who", "tool", "arguments", "decision", "rule", "outcome", "run"] as const).map((each) => (
                    <th key={each} scope="col">
                      {say(each)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {found.map((line) => (
                  <tr key={`${line.run} ${line.number} ${line.decision} ${line.tool}`}>
                    <td>{time(line.at, language)}</td>
                    <td>{told(line.principal ?? "")}</td>
                    <td>{told(line.tool ?? "")}</td>
                    <td className="value">{cut(told(line.arguments ?? ""), 200).text}</td>
                    <td>{line.decision}</td>
                    <td>{told(line.rule ?? "")}</td>
                    <td>{told(line.outcome ?? "")}</td>
                    <td>
                      <Link to={`/runs/${line.run}` as string}>{line.run.slice(0, 12)}</Link>
                    </td>
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
