// Who did what, why it was allowed, and what came of it.
import { Link } from "@tanstack/react-router";

import { useEnded } from "../../core/ended";
import { dictionary, usePreferences, useText } from "../../core/language";
import { useOwn } from "../../core/own";
import { brief, time, told, visible } from "../../core/shown";
import type { AuditLine } from "../../core/types";
import { ChoiceFilter, TextFilter, TimeFilters, useFilters } from "../../parts/filters";
import { ListPage, useList } from "../../parts/list";
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
    tools: "name, or pay_*",
    words: "what a line says",
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
    tools: "名称，或 pay_*",
    words: "记录中的文字",
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
  const own = useOwn();
  const ended = useEnded();
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const [filters, filter] = useFilters(NAMES);
  const list = useList<AuditLine>(["audit"], "/v1/audit", filters);
  return (
    <ListPage
      title={title}
      search={{ hint: say("words"), value: filters.text, onChange: (text) => filter("text", text) }}
      filters={
        <>
          <TextFilter label={say("tool")} hint={say("tools")} value={filters.tool ?? ""} onChange={(tool) => filter("tool", tool)} />
          <TextFilter label={say("who")} value={filters.principal ?? ""} onChange={(who) => filter("principal", who)} />
          <ChoiceFilter label={say("decision")} values={DECISIONS} shown={say} chosen={filters.decision} onChange={(value) => filter("decision", value)} />
          <TimeFilters since={filters.since} until={filters.until} onChange={filter} />
        </>
      }
      list={list}
      keyOf={(line) => `${line.run} ${line.number} ${line.decision} ${line.tool}`}
      empty={say("empty")}
      columns={[
        [say("at"), (line) => time(line.at, language), "when"],
        [say("who"), (line) => told(line.principal ?? "")],
        [say("tool"), (line) => told(line.tool ?? "")],
        [say("arguments"), (line) => brief(compact(line.arguments), 200), "value"],
        [say("decision"), (line) => say(line.decision)],
        [say("rule"), (line) => own(line.rule ?? "")],
        [say("outcome"), (line) => ended(line.outcome ?? "")],
        [say("run"), (line) => <Link to={`/runs/${line.run}` as string}>{line.run.slice(0, 12)}</Link>, "when"],
      ]}
    />
  );
}

/** Arguments in one line. */
function compact(values: Record<string, unknown> | null | undefined): string {
  const written = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  return Object.entries(values ?? {})
    .map(([name, value]) => visible(`${name}: ${written(value)}`))
    .join(", ");
}
