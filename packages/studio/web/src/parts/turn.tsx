// One question with its calls and its answer: the same in the chat and on the page of a run.
import { Component, lazy, Suspense, useDeferredValue, type ComponentType, type ReactNode } from "react";

import { useEnded } from "../core/ended";
import { dictionary, useText } from "../core/language";
import { told } from "../core/shown";
import type { State } from "../core/texts";
import type { Turn } from "../core/turns";
import type { Approval } from "../core/types";
import { CallCard } from "./call";
import { keyOf, Together, turns } from "./together";
import { StateText } from "./values";
import { Waiting } from "./waiting";

const Markdown = lazy<ComponentType<{ text: string }>>(() => import("./markdown").catch(() => ({ default: Plain }))); // where the server is away

const TEXTS = dictionary({ reason: "Reason: {reason}", writing: "writing…" }, { reason: "原因：{reason}", writing: "正在输入…" });

export function TurnView({ turn, approvals }: { turn: Turn; approvals: Approval[] }) {
  const say = useText(TEXTS);
  const ended = useEnded();
  const shown = new Set<string>();
  const approvalOf = (id: string) => {
    const found = approvals.find((each) => each.id === id);
    if (found) shown.add(found.id);
    return found;
  };
  const steps = turn.steps.map((step) =>
    step.kind === "said" ? (
      <Said key={step.number} text={step.text} />
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
      {turns(approvals).map((each) => (
        <Together key={keyOf(each)} approvals={each} />
      ))}
      {others.map((each) => (
        <div key={each.id} className="card">
          <Waiting approval={each} />
        </div>
      ))}
      {turn.isOver && turn.status !== "done" && (
        <p>
          <StateText state={turn.status as State} /> {turn.reason && say("reason", { reason: ended(turn.reason) })}
        </p>
      )}
    </>
  );
}

function Said({ text }: { text: string }) {
  return (
    <div className="said">
      <Otherwise shown={<Plain text={text} />}>
        <Suspense fallback={<Plain text={text} />}>
          <Markdown text={text} />
        </Suspense>
      </Otherwise>
    </div>
  );
}

function Plain({ text }: { text: string }) {
  return <p className="plain">{told(text)}</p>;
}

/** Shows something else where its content can not be shown: a text that breaks the reader of Markdown breaks no page. */
class Otherwise extends Component<{ shown: ReactNode; children: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    return this.state.isBroken ? this.props.shown : this.props.children;
  }
}

/** What a model is saying now. It stands outside of the log, which tells a message once, when it is whole. */
export function Writing({ turn, words }: { turn: Turn; words: string }) {
  const say = useText(TEXTS);
  const shown = useDeferredValue(words); // a long text is drawn anew with each word
  if (words) {
    return (
      <div className="writing" aria-busy="true">
        <Said text={shown || words} />
      </div>
    );
  }
  const isWaited = turn.status === "running" && !turn.isOver;
  return isWaited ? <p className="writing dots">{say("writing")}</p> : null;
}
