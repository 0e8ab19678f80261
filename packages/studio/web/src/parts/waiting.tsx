// What waits for a person: an approval, a question, a doubt. The same on Approvals and in the chat.
import { useQueryClient } from "@tanstack/react-query";
import { useId } from "react";

import { useSession } from "../app";
import { ask } from "../core/api";
import { noteOwn } from "../core/approvals";
import { useKept } from "../core/kept";
import { usePreferences, useText } from "../core/language";
import { useOwn } from "../core/own";
import { useRisk } from "../core/risk";
import { told, time } from "../core/shown";
import { COMMON } from "../core/texts";
import type { Approval, Verdict } from "../core/types";
import { Failure } from "./failure";
import { Form, type FormSchema, type Values } from "./form";
import { usePress } from "./press";
import { useUnhurried } from "./unhurried";
import { Arguments } from "./values";

const WORDS = {
  approve: "approve",
  deny: "deny",
  answer: "answer",
  done: "done",
  not_done: "not_done",
  retry: "again",
  unknown: "unknown",
  cancel: "cancel",
} as const satisfies Record<Verdict, string>;

/** Names what answers; an error of it outlives the card. */
export const ANSWER = ["answer"];

interface Given {
  verdict: Verdict;
  text?: string;
  arguments?: Values;
}

/** `isNamed`: the tool's name is seen beside it already. */
export function Waiting({ approval, isNamed = false }: { approval: Approval; isNamed?: boolean }) {
  const say = useText(COMMON);
  const language = usePreferences((each) => each.language);
  const own = useOwn();
  const risk = useRisk();
  const known = useQueryClient();
  const about = useId();
  const user = useSession().data?.user ?? "";
  const [edited, setEdited] = useKept<Values | undefined>(JSON.stringify([user, approval.id, "arguments"]), undefined);
  const [text, setText] = useKept(JSON.stringify([user, approval.id, "answer"]), "");
  const { ref: buttons, isSettled, press, note } = useUnhurried<HTMLDivElement>();
  const answered = usePress({
    mutationKey: ANSWER,
    mutationFn: (body: Given) => ask("POST", `/v1/approvals/${encodeURIComponent(approval.id)}`, { body }),
    onMutate: () => noteOwn(approval.id),
    onSettled: () => known.invalidateQueries({ queryKey: ["approvals"] }),
  });
  const isForm = approval.schema !== null && approval.kind !== "approval";
  const isQuestion = approval.verdicts.includes("answer");
  const values = edited ?? (isForm ? {} : undefined);

  function give(verdict: Verdict) {
    const given: Given = { verdict };
    if (text) given.text = text;
    if (values && (verdict === "approve" || verdict === "answer")) given.arguments = values;
    answered.mutate(given);
  }

  return (
    <div className="waiting">
      <div id={about}>
        {approval.message && <p>{approval.risk ? risk(approval) : own(approval.message)}</p>}
        {approval.tool && <p className={isNamed ? "unseen" : "tool"}>{told(approval.tool)}</p>}
        {!edited && approval.arguments && (
          <Arguments values={approval.arguments} origins={approval.origins as Parameters<typeof Arguments>[0]["origins"] & object} />
        )}
      </div>
      {values && <Form {...(approval.schema ? { schema: approval.schema as FormSchema } : {})} values={values} typed={approval.arguments ?? {}} onChange={setEdited} />}
      {isQuestion && !isForm && (
        <label>
          {say("answer")}
          <textarea rows={2} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      )}
      {(approval.needs > 1 || approval.expires) && (
        <p className="hint">
          {approval.needs > 1 && `${say("agreed", { count: approval.agreed.length, needs: approval.needs })} `}
          {approval.missing.length > 0 && `(${approval.missing.map(told).join(", ")}) `}
          {approval.expires && say("expires", { time: time(approval.expires, language) })}
        </p>
      )}
      <div className="buttons" ref={buttons}>
        {approval.verdicts.map((verdict) => (
          <button
            key={verdict}
            type="button"
            className={verdict === "approve" || verdict === "answer" ? "primary" : ""}
            aria-describedby={about}
            aria-disabled={!isSettled || answered.isPending}
            title={isSettled ? undefined : say("tooSoon")}
            onClick={() => press(() => !answered.isPending && give(verdict))}
          >
            {say(WORDS[verdict])}
          </button>
        ))}
        {approval.verdicts.includes("approve") && approval.arguments && !edited && (
          <button type="button" onClick={() => setEdited(approval.arguments ?? {})}>
            {say("edit")}
          </button>
        )}
        {edited && !isForm && (
          <button type="button" onClick={() => setEdited(undefined)}>
            {say("cancel")}
          </button>
        )}
      </div>
      {note}
      {answered.isError && <Failure error={answered.error} />}
    </div>
  );
}
