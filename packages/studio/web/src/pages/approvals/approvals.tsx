// Everything that waits for a person, the oldest first.
import { useMutationState } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { isProblem } from "../../core/api";
import { useApprovals, useApprovalsBehind } from "../../core/approvals";
import { dictionary, usePreferences, useText } from "../../core/language";
import { told, time } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Approval } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { keyOf, Together, turns } from "../../parts/together";
import { ANSWER, Waiting } from "../../parts/waiting";
import { page } from "./page";

const TEXTS = dictionary(
  {
    empty: "Nothing waits for a person. What a rule asks about appears here by itself.",
    one: "Approval: {tool}",
    asked: "{who} through {agent}, {time}",
    run: "Open the run",
  },
  {
    empty: "没有等待审批的内容。规则要求询问的调用会自动出现在这里。",
    one: "审批：{tool}",
    asked: "{who} 通过 {agent}，{time}",
    run: "打开运行记录",
  },
);

export default function Approvals() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const query = useApprovals();
  const [isWhole, setWhole] = useState(false);
  const behind = useApprovalsBehind(query.data?.next ?? null, isWhole);
  return (
    <>
      <h1>{title}</h1>
      <InVain />
      <Asked query={query} empty={(part) => (part.items.length ? undefined : <p className="hint">{say("empty")}</p>)}>
        {(part) =>
          turns(inOrder(part.next ? [...part.items, ...(behind.data ?? [])] : part.items)).map((turn) => (
            <section key={keyOf(turn)}>
            <Together approvals={turn} />
            {turn.map((each) => (
              <article key={each.id} aria-label={say("one", { tool: told(each.tool || each.kind) })} className="card">
                <h2>{say("one", { tool: told(each.tool || each.kind) })}</h2>
                <p className="hint">
                  {say("asked", { who: each.principal, agent: each.agent, time: time(each.asked_at, language) })}{" "}
                  <Link to={`/runs/${each.run}` as string}>{say("run")}</Link>
                </p>
                <Waiting approval={each} />
              </article>
            ))}
            </section>
          ))
        }
      </Asked>
      {behind.error ? <Failure error={behind.error} onRetry={() => void behind.refetch()} /> : null}
      {query.data?.next && !behind.data && (
        <button type="button" aria-disabled={behind.isFetching} onClick={() => setWhole(true)}>
          {common("more")}
        </button>
      )}
    </>
  );
}

/** The oldest first; what one part has left since is in the next one, too. */
function inOrder(approvals: readonly Approval[]): Approval[] {
  const found = new Map(approvals.map((each) => [each.id, each]));
  return [...found.values()].sort((one, other) => one.asked_at - other.asked_at);
}

/** Answers that are on record, after which the run does not go on: their cards are gone. */
function InVain() {
  const say = useText(TEXTS);
  const errors = useMutationState({ filters: { mutationKey: ANSWER, status: "error" }, select: (each) => each.state.error });
  return errors.filter((error) => isProblem(error, "changed", "unpublished")).map((error) => (
    <div key={String(error.body["run"])}>
      <Failure error={error} />
      <Link to={`/runs/${String(error.body["run"])}` as string}>{say("run")}</Link>
    </div>
  ));
}
