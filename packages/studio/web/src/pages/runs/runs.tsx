// What ran: a list with filters that stand in the address, and one run in full.
import { Link, useParams } from "@tanstack/react-router";

import { dictionary, usePreferences, useText } from "../../core/language";
import { brief, span, time, told } from "../../core/shown";
import { COMMON, stateKey, type State } from "../../core/texts";
import type { Part, Run } from "../../core/types";
import { ChoiceFilter, TextFilter, TimeFilters, useFilters } from "../../parts/filters";
import { ListPage, useList } from "../../parts/list";
import { StateText } from "../../parts/values";
import { RunPage } from "./run";
import { page } from "./page";

const TEXTS = dictionary(
  {
    status: "Status",
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
  return run ? <RunPage key={run} run={run} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const status = useStatus();
  const [filters, filter] = useFilters(NAMES);
  // What administrators did is in the audit; here it stands where somebody asks for it.
  const isSeen = (run: Run) => run.kind !== "administration" || filters.kind === "administration";
  const list = useList<Run, Runs>(["runs"], "/v1/runs", filters, { first: { counts: "status" }, isSeen });
  return (
    <ListPage
      title={title}
      search={{ hint: say("words"), value: filters.text, onChange: (text) => filter("text", text) }}
      filters={
        <>
          <ChoiceFilter label={say("status")} values={STATUSES} shown={status} chosen={filters.status} onChange={(value) => filter("status", value)} />
          {(["agent", "tool", "error"] as const).map((name) => (
            <TextFilter key={name} label={say(name)} value={filters[name] ?? ""} onChange={(value) => filter(name, value)} />
          ))}
          <ChoiceFilter label={say("kind")} values={KINDS} shown={(each) => say(`kind_${each}`)} chosen={filters.kind} onChange={(value) => filter("kind", value)} />
          <TextFilter type="number" label={say("version")} value={filters.version ?? ""} onChange={(value) => filter("version", value)} />
          <TimeFilters since={filters.since} until={filters.until} onChange={filter} />
        </>
      }
      list={list}
      keyOf={(each) => each.id}
      empty={say("empty")}
      columns={[
        [say("question"), (each) => <Link to={`/runs/${each.id}` as string}>{brief(each.question, 120) || each.id.slice(0, 12)}</Link>, "main"],
        [say("status"), (each) => <StateText state={each.status} />],
        [say("agent"), (each) => told(each.agent)],
        [say("who"), (each) => told(each.principal)],
        [say("began"), (each) => time(each.started, language), "when"],
        [say("took"), (each) => (each.ended === null ? "" : span(each.ended - each.started)), "when"],
      ]}
    >
      {Object.keys(filters).length > 0 && <Counts counts={list.first?.counts ?? {}} />}
    </ListPage>
  );
}

/** The status of a run as a word of this page, which tells waiting and paused apart. */
function useStatus(): (status: State) => string {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  return (status) => (status === "paused" ? say("paused") : common(stateKey(status)));
}

/** How many of the runs that fit stand in which way. */
function Counts({ counts }: { counts: Record<string, string> }) {
  const status = useStatus();
  const known = STATUSES.filter((each) => Object.hasOwn(counts, each));
  if (!known.length) return null;
  return <p className="hint">{known.map((each) => `${status(each)} ${counts[each]}`).join(" · ")}</p>;
}
