// Who did what, why it was allowed, and what came of it.
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { ask } from "../../core/api";
import { dictionary, usePreferences, useText } from "../../core/language";
import { useOwn } from "../../core/own";
import { cut, told, time, visible } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { AuditLine, Part } from "../../core/types";
import { Asked } from "../../parts/failure";
import { Filters, TextFilter, TimeFilters, useFilters } from "../../parts/filters";
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
    tools: "name, or pay_*",
    words: "what a line says",
    soFar: "Nothing fits so far. Show more looks further back.",
    allowed: "allowed",
    denied: "denied",
    asked: "asked",
    approved: "approved",
    refused: "refused",
    done: "done",
    failed: "failed",
    administered: "administered",
    answered: "answered",
    resolved: "settled",
    checked: "checked",
    kept_out: "kept out",
    forked: "branched off",
    agent_changed: "went on with a changed agent",
    mandated: "what the user asked for, noted",
    noted: "noted",
    forgotten: "forgotten",
    deleted: "deleted",
    damaged: "damaged",
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
    tools: "名称，或 pay_*",
    words: "记录中的文字",
    soFar: "目前没有符合条件的记录。点击“显示更多”可查找更早的记录。",
    allowed: "允许",
    denied: "禁止",
    asked: "询问",
    approved: "批准",
    refused: "拒绝",
    done: "完成",
    failed: "失败",
    administered: "管理操作",
    answered: "已回答",
    resolved: "已澄清",
    checked: "已检查",
    kept_out: "被拦在外",
    forked: "已分支",
    agent_changed: "以更改后的智能体继续",
    mandated: "用户的要求已记下",
    noted: "已记录",
    forgotten: "已遗忘",
    deleted: "已删除",
    damaged: "已损坏",
  },
);

const NAMES = ["text", "tool", "principal", "decision", "since", "until"] as const;
const DECISIONS = [
  "asked",
  "approved",
  "denied",
  "answered",
  "resolved",
  "checked",
  "allowed",
  "done",
  "failed",
  "kept_out",
  "refused",
  "administered",
  "forked",
  "agent_changed",
  "mandated",
  "noted",
  "forgotten",
  "deleted",
  "damaged",
] as const satisfies readonly AuditLine["decision"][];

export default function Audit() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const own = useOwn();
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const [filters, filter] = useFilters(NAMES);
  const query = useInfiniteQuery({
    queryKey: ["audit", filters],
    queryFn: ({ signal, pageParam }) =>
      ask<Part<AuditLine>>("GET", "/v1/audit", { signal, query: { ...filters, limit: 50, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });

  const lines = query.data?.pages.flatMap((each) => each.items);
  return (
    <>
      <h1>{title}</h1>
      <Filters>
        <TextFilter type="search" label={common("search")} hint={say("words")} value={filters.text ?? ""} onChange={(text) => filter("text", text)} />
        <TextFilter label={say("tool")} hint={say("tools")} value={filters.tool ?? ""} onChange={(tool) => filter("tool", tool)} />
        <TextFilter label={say("who")} value={filters.principal ?? ""} onChange={(who) => filter("principal", who)} />
        <label>
          {say("decision")}
          <select value={filters.decision ?? ""} onChange={(event) => filter("decision", event.target.value)}>
            <option value="">{say("any")}</option>
            {DECISIONS.map((each) => (
              <option key={each} value={each}>
                {say(each)}
              </option>
            ))}
          </select>
        </label>
        <TimeFilters since={filters.since} until={filters.until} onChange={filter} />
      </Filters>
      <Asked
        query={{ data: lines, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say(query.hasNextPage ? "soFar" : "empty")}</p>)}
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
                    <td className="when">{time(line.at, language)}</td>
                    <td>{told(line.principal ?? "")}</td>
                    <td>{told(line.tool ?? "")}</td>
                    <td className="value">{cut(compact(line.arguments), 200).text}</td>
                    <td>{say(line.decision)}</td>
                    <td>{own(line.rule ?? "")}</td>
                    <td>{told(line.outcome ?? "")}</td>
                    <td className="when">
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

/** Arguments in one line. */
function compact(values: Record<string, unknown> | null | undefined): string {
  const written = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  return Object.entries(values ?? {})
    .map(([name, value]) => visible(`${name}: ${written(value)}`))
    .join(", ");
}
