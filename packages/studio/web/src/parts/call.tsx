// A tool call as a card: what was called with what, why it was allowed, and what came of it.
import { dictionary, useText } from "../core/language";
import { useOwn } from "../core/own";
import { span, told } from "../core/shown";
import type { Call } from "../core/turns";
import type { Approval } from "../core/types";
import { Failed } from "./failed";
import { Arguments, StateText, Value } from "./values";
import { Waiting } from "./waiting";

const TEXTS = dictionary(
  {
    card: "Tool call: {tool}",
    attempt: "attempt {attempt}",
    result: "Result",
    rule: "Rule: {rule}",
    version: "version {version}",
    approve: "approved by {who}",
    deny: "denied by {who}",
    other: "answered by {who}",
  },
  {
    card: "工具调用：{tool}",
    attempt: "第 {attempt} 次尝试",
    result: "结果",
    rule: "规则：{rule}",
    version: "版本 {version}",
    approve: "由 {who} 批准",
    deny: "由 {who} 拒绝",
    other: "由 {who} 答复",
  },
);

/** So much of a result is seen without a press. */
const SHORT = 300;

export function CallCard({ call, approval }: { call: Call; approval?: Approval | undefined }) {
  const say = useText(TEXTS);
  const own = useOwn();
  const name = told(call.tool);
  const notes = [
    call.rule && say("rule", { rule: own(call.rule) }),
    ...call.answers.map(({ by, verdict }) => say(verdict === "approve" || verdict === "deny" ? verdict : "other", { who: told(by) })),
    call.version && say("version", { version: told(call.version).slice(0, 8) }),
  ].filter(Boolean);
  return (
    <article aria-label={say("card", { tool: name })} className="card call">
      <h3>
        <span className="tool">{name}</span> <StateText state={call.state} />
        {call.attempt > 1 && <span className="hint"> {say("attempt", { attempt: call.attempt })}</span>}
        {call.ended > 0 && <span className="hint"> {span(call.ended - call.began)}</span>}
      </h3>
      {approval ? <Waiting key={approval.id} approval={approval} isNamed /> : <Arguments values={call.arguments} origins={call.origins} />}
      {call.error ? (
        <Failed error={call.error} />
      ) : (
        call.ended > 0 && (
          <details open={told(call.result).length <= SHORT}>
            <summary>{say("result")}</summary>
            <Value value={call.result} />
          </details>
        )
      )}
      {notes.length > 0 && <p className="hint small">{notes.join(" · ")}</p>}
    </article>
  );
}
