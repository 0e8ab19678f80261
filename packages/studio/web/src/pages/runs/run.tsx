// One run: what was asked, each call, what waits, what came of it, and what can be done with it.
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useAnew } from "../../core/anew";
import { ask, send } from "../../core/api";
import { branchPoints } from "../../core/branches";
import { useEnded } from "../../core/ended";
import { useRun } from "../../core/follow";
import { dictionary, usePreferences, useText } from "../../core/language";
import { brief, span, time, told } from "../../core/shown";
import { turn } from "../../core/turns";
import type { RunDetails, RunEvent } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";
import { Resume } from "../../parts/resume";
import { StateText } from "../../parts/values";
import { TurnView, Writing } from "../../parts/turn";
import { Waterfall } from "./waterfall";

const TEXTS = dictionary(
  {
    back: "All runs",
    cancel: "Cancel run",
    fork: "Branch off",
    export: "Export",
    from: "Branch off at",
    beginning: "the beginning",
    behind: "entry {at}, behind {tool}",
    question: "Another question",
    result: "Another result",
    agent: "Agent {agent}, model {model}, asked by {who}",
    agentAlone: "Agent {agent}, asked by {who}",
    workflow: "Workflow {agent}, asked by {who}",
    direct: "Asked by {who}",
    when: "Began {time}, took {span}",
    began: "Began {time}",
    tokens: "{input} tokens in, {output} out",
    reason: "Reason: {reason}",
  },
  {
    back: "全部运行记录",
    cancel: "取消运行",
    fork: "分支",
    export: "导出",
    from: "分支起点",
    beginning: "开头",
    behind: "第 {at} 条，{tool} 之后",
    question: "另一个问题",
    result: "另一个结果",
    agent: "智能体 {agent}，模型 {model}，提问者 {who}",
    agentAlone: "智能体 {agent}，提问者 {who}",
    workflow: "工作流 {agent}，提问者 {who}",
    direct: "提问者 {who}",
    when: "开始于 {time}，用时 {span}",
    began: "开始于 {time}",
    tokens: "输入 {input} 个词元，输出 {output} 个",
    reason: "原因：{reason}",
  },
);

export function RunPage({ run }: { run: string }) {
  const say = useText(TEXTS);
  const ended = useEnded();
  const language = usePreferences((each) => each.language);
  const known = useQueryClient();
  const [isBranching, setBranching] = useState(false);
  const path = `/v1/runs/${encodeURIComponent(run)}`;
  const followed = useRun(run);
  const asked = turn(followed.entries);
  const details = useAnew({
    queryKey: ["run", run],
    queryFn: ({ signal }) => ask<RunDetails>("GET", path, { signal }),
    news: followed.entries.length,
  });
  const cancel = usePress({
    mutationFn: () => ask("POST", `${path}/cancel`),
    onSettled: () => known.invalidateQueries({ queryKey: ["run", run] }),
  });
  const save = usePress({ mutationFn: () => download(`${path}/export`, `${run}.jsonl`) });
  return (
    <Asked query={details}>
      {(found) => (
        <>
          <p>
            <Link to={"/runs" as string}>{say("back")}</Link>
          </p>
          <h1>{brief(found.question, 160) || run}</h1>
          <p>
            <StateText state={found.status} /> {found.stop_reason && say("reason", { reason: ended(found.stop_reason) })}
          </p>
          <p className="hint">{say(doer(found), { agent: told(found.agent), model: told(found.model), who: told(found.principal) })}</p>
          <p className="hint">
            {found.ended === null
              ? say("began", { time: time(found.started, language) })
              : say("when", { time: time(found.started, language), span: span(found.ended - found.started) })}
            {" · "}
            {say("tokens", { input: found.usage.input_tokens ?? 0, output: found.usage.output_tokens ?? 0 })}
          </p>
          <div className="buttons">
            {found.ended === null && (
              <button type="button" onClick={() => cancel.mutate()}>
                {say("cancel")}
              </button>
            )}
            {(found.kind === "agent" || found.kind === "workflow") && (
              <button type="button" aria-expanded={isBranching} onClick={() => setBranching(!isBranching)}>
                {say("fork")}
              </button>
            )}
            <button type="button" onClick={() => save.mutate()}>
              {say("export")}
            </button>
            <Resume run={run} isInterrupted={found.status === "interrupted"} />
          </div>
          {isBranching && <Branch run={found} entries={followed.entries} />}
          {[cancel.error, save.error].filter(Boolean).map((error, place) => (
            <Failure key={place} error={error} />
          ))}
          <Waterfall run={run} entries={followed.entries.length} />
          <div className="talk">
            <TurnView turn={asked} approvals={found.approvals} />
            <Writing turn={asked} words={followed.words} />
          </div>
        </>
      )}
    </Asked>
  );
}

/** Branch off at the beginning, with another question, or behind a call, with another result. */
function Branch({ run, entries }: { run: RunDetails; entries: readonly RunEvent[] }) {
  const say = useText(TEXTS);
  const navigate = useNavigate();
  const [at, setAt] = useState(0);
  const [text, setText] = useState<string>();
  const points = branchPoints(entries);
  const point = points.find((each) => each.at === at);
  const before = at === 0 ? run.question : (point?.result ?? "");
  const fork = usePress({
    mutationFn: (body: object, key) => ask<{ id: string }>("POST", `/v1/runs/${encodeURIComponent(run.id)}/fork`, { body, once: key }),
    then: (made) => navigate({ to: `/runs/${made.id}` as string }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const other = text !== undefined && text !== before ? { [at === 0 ? "question" : "result"]: text } : {};
        if (!fork.isPending) fork.mutate({ at, ...other });
      }}
    >
      <label>
        {say("from")}
        <select
          value={at}
          onChange={(event) => {
            setAt(Number(event.target.value));
            setText(undefined);
          }}
        >
          {points.map((each) => (
            <option key={each.at} value={each.at}>
              {each.at === 0 ? say("beginning") : say("behind", { at: each.at, tool: told(each.tool) })}
            </option>
          ))}
        </select>
      </label>
      {(at > 0 || run.kind === "agent") && (
        <label>
          {say(at === 0 ? "question" : "result")}
          <textarea rows={2} value={text ?? before} onChange={(event) => setText(event.target.value)} />
        </label>
      )}
      <button type="submit" className="primary">
        {say("fork")}
      </button>
      {fork.isError && <Failure error={fork.error} />}
    </form>
  );
}

/** Keep an answer of the server as a file: it is downloaded, never opened in the origin of the pages. */
export async function download(path: string, name: string, query: Record<string, string> = {}): Promise<void> {
  const answer = await send("GET", path, { query });
  const place = URL.createObjectURL(new Blob([await answer.blob()], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = place;
  link.download = name;
  link.click();
  URL.revokeObjectURL(place);
}

/** Which sentence says who did the run: an agent by a model, a workflow, or a caller without either. */
function doer(run: RunDetails): "agent" | "agentAlone" | "workflow" | "direct" {
  if (run.kind === "workflow") return "workflow";
  if (!run.agent) return "direct";
  return run.model ? "agent" : "agentAlone";
}
