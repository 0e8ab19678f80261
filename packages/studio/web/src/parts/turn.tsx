// One question with its calls and its answer: the same in the chat and on the page of a run.
import { lazy, Suspense } from "react";

import { dictionary, useText } from "../core/language";
import { told } from "../core/shown";
import type { Turn } from "../core/turns";
import type { Approval } from "../core/types";
import { CallCard } from "./call";
import { StateText } from "./values";
import { Waiting } from "./waiting";
import type { State } from "../core/texts";

const Markdown = lazy(() => import("./markdown"));

const TEXTS = dictionary({ reason: "Reason: {reason}", writing: "writing…" }, { reason: "原因：{reason}", writing: "正在输入…" });

export function TurnView({ turn, words, approvals }: { turn: Turn; words: string; approvals: Approval[] }) {
  const say = useText(TEXTS);
  const shown = new Set<string>();
  const approvalOf = (id: string) => {
    const found = approvals.find((each) => each.id === id);
    if (found) shown.add(found.id);
    return found;
  };
  const steps = turn.steps.map((step) =>
    step.kind === "said" ? (
      <div key={step.number} className="said">
        <Suspense fallback={<p>{told(step.text)}</p>}>
          <Markdown text={step.text} />
        </Suspense>
      </div>
    ) : (
      <div key={step.number} className="calls">
        {step.calls.map((call) => (
          <CallCard key={call.id} call={call} approval={approvalOf(call.approval)} />
        ))}
      </div>
    ),
  );
  const others = approvals.filter((each) => !shown.has(each.id));
  return (
    <>
      {turn.question && <p className="said user">{told(turn.question)}</p>}
      {steps}
      {others.map((each) => (
        <div key={each.id} className="card">
          <Waiting approval={each} />
        </div>
      ))}
      {words && (
        <div className="said writing" aria-busy="true">
          {told(words)}
        </div>
      )}
      {turn.status === "running" && !words && <p className="writing">{say("writing")}</p>}
      {turn.isOver && turn.status !== "done" && (
        <p>
          <StateText state={turn.status as State} /> {turn.reason && say("reason", { reason: told(turn.reason) })}
        </p>
      )}
    </>
  );
}
