// The turns of a conversation: the same in the chat and beside the draft of an agent.
import type { ReactNode } from "react";

import { useApprovalsOf } from "../core/approvals";
import { citedIn, useCited } from "../core/cited";
import { useRun } from "../core/follow";
import { dictionary, useText } from "../core/language";
import { turn } from "../core/turns";
import type { Run } from "../core/types";
import type { Draft } from "./composer";
import { CitedContext } from "./reference";
import { Resume } from "./resume";
import { Thumbs } from "./thumbs";
import { TurnView, Writing } from "./turn";

const TEXTS = dictionary(
  { log: "Conversation", again: "Ask again", change: "Edit and send again" },
  { log: "对话内容", again: "再问一次", change: "修改后重新发送" },
);

/** `children`: what was said before. `isChat`: whether a question can be sent again in other words, and an answer rated. */
export function Talk(props: { runs: Run[]; onAsk: (draft: Draft) => void; isChat?: boolean; children?: ReactNode }) {
  const say = useText(TEXTS);
  return (
    <>
      <div role="log" aria-label={say("log")}>
        {props.children}
        {props.runs.map((each, place) => (
          <TurnOfRun key={each.id} run={each} before={props.runs.slice(0, place)} onAsk={props.onAsk} isChat={props.isChat ?? false} />
        ))}
      </div>
      {props.runs.map((each) => (
        <Words key={each.id} run={each.id} />
      ))}
    </>
  );
}

function Words({ run }: { run: string }) {
  const followed = useRun(run);
  return <Writing turn={turn(followed.entries)} words={followed.words} />;
}

/**
 * `before`: the runs of the conversation before this one, whose references can be cited again.
 * `onAsk`: not given for a turn of another conversation, which goes on there.
 */
export function TurnOfRun({ run, before = [], onAsk, isChat = false }: { run: Run; before?: Run[]; onAsk?: (draft: Draft) => void; isChat?: boolean }) {
  const say = useText(TEXTS);
  const followed = useRun(run.id);
  const approvals = useApprovalsOf(run.id);
  const found = turn(followed.entries);
  const cites = found.isOver && found.steps.some((each) => each.kind === "said" && citedIn(each.text).some((piece) => typeof piece === "number" && piece > 0));
  const cited = useCited([...before.map((each) => each.id), run.id], cites);
  return (
    <article className="turn">
      <CitedContext value={cited}>
        <TurnView turn={found} approvals={approvals} />
      </CitedContext>
      <div className="buttons after">
        {onAsk && <Resume run={run.id} isInterrupted={run.status === "interrupted"} />}
        {onAsk && found.isOver && found.status !== "done" && (
          <button type="button" onClick={() => onAsk({ text: run.question, branch: "" })}>
            {say("again")}
          </button>
        )}
        {onAsk && isChat && found.isOver && (
          <button type="button" className="quiet" onClick={() => onAsk({ text: run.question, branch: run.id })}>
            {say("change")}
          </button>
        )}
        {isChat && found.isOver && <Thumbs run={run.id} />}
      </div>
    </article>
  );
}
