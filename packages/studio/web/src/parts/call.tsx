// A tool call as a card: what was called with what, why it was allowed, and what came of it.
import { dictionary, useText } from "../core/language";
import { span, told } from "../core/shown";
import type { Call } from "../core/turns";
import type { Approval } from "../core/types";
import { Arguments, StateText, Value } from "./values";
import { Waiting } from "./waiting";

const TEXTS = dictionary(
  { card: "Tool call: {tool}", attempt: "attempt {attempt}", result: "Result", error: "Error" },
  { card: "工具调用：{tool}", attempt: "第 {attempt} 次尝试", result: "结果", error: "错误" },
);

export function CallCard({ call, approval }: { call: Call; approval?: Approval | undefined }) {
  const say = useText(TEXTS);
  const name = told(call.tool);
  return (
    <article aria-label={say("card", { tool: name })} className="card call">
      <h3>
        <span className="tool">{name}</span> <StateText state={call.state} />
        {call.attempt > 1 && <span className="hint"> {say("attempt", { attempt: call.attempt })}</span>}
        {call.ended > 0 && <span className="hint"> {span(call.ended - call.began)}</span>}
      </h3>
      {approval ? <Waiting approval={approval} /> : <Arguments values={call.arguments} />}
      {call.error ? (
        <details open>
          <summary>{say("error")}</summary>
          <Value value={call.error.message} />
        </details>
      ) : (
        call.ended > 0 && (
          <details>
            <summary>{say("result")}</summary>
            <Value value={call.result} />
          </details>
        )
      )}
    </article>
  );
}
