// The calls of one reply that wait are one question: one press answers all of them, each as it was asked.
import { useQueryClient } from "@tanstack/react-query";

import { ask } from "../core/api";
import { noteOwn } from "../core/approvals";
import { dictionary, useText } from "../core/language";
import { COMMON } from "../core/texts";
import type { Approval } from "../core/types";
import { Failure } from "./failure";
import { usePress } from "./press";
import { useUnhurried } from "./unhurried";
import { ANSWER } from "./waiting";

const TEXTS = dictionary(
  { several: "The model wants to make {count} calls.", approve: "Approve all {count}", deny: "Deny all {count}" },
  { several: "模型想进行 {count} 次调用。", approve: "全部批准（{count}）", deny: "全部拒绝（{count}）" },
);

/** What waits, the calls of one reply side by side. */
export function turns(approvals: readonly Approval[]): Approval[][] {
  const found = new Map<string, Approval[]>();
  for (const each of approvals) found.set(keyOf([each]), [...(found.get(keyOf([each])) ?? []), each]);
  return [...found.values()];
}

/** Names what waits of one reply: the same while some of it is answered. */
export function keyOf([first]: readonly Approval[]): string {
  return first ? first.turn || first.id : "";
}

/** The buttons for all calls of one reply; nothing where only one waits. */
export function Together({ approvals }: { approvals: Approval[] }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const { ref: buttons, isSettled, press, note } = useUnhurried<HTMLDivElement>();
  const first = approvals[0];
  const answered = usePress({
    mutationKey: ANSWER,
    mutationFn: (verdict: "approve" | "deny") =>
      ask("POST", `/v1/approvals/${encodeURIComponent(first?.id ?? "")}`, { body: { verdict, turn: true } }),
    onMutate: () => approvals.forEach((each) => noteOwn(each.id)),
    onSettled: () => known.invalidateQueries({ queryKey: ["approvals"] }),
  });
  if (!first?.turn || approvals.length < 2) return null;
  const count = approvals.length;
  return (
    <div className="waiting">
      <p>{say("several", { count })}</p>
      <div className="buttons" ref={buttons}>
        {(["approve", "deny"] as const).map((verdict) => (
          <button
            key={verdict}
            type="button"
            className={verdict === "approve" ? "primary" : ""}
            aria-disabled={!isSettled || answered.isPending}
            title={isSettled ? undefined : common("tooSoon")}
            onClick={() => press(() => !answered.isPending && answered.mutate(verdict))}
          >
            {say(verdict, { count })}
          </button>
        ))}
      </div>
      {note}
      {answered.isError && <Failure error={answered.error} />}
    </div>
  );
}
