// Talk with an agent: conversations at the side, each tool call as a card, and what waits for a person in its place.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

import { useSession } from "../../app";
import { ask, isProblem } from "../../core/api";
import { useApprovals } from "../../core/approvals";
import { useRun } from "../../core/follow";
import { useText } from "../../core/language";
import { COMMON } from "../../core/texts";
import { turn } from "../../core/turns";
import type { Agent, Part, Run } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { tell } from "../../parts/status";
import { TurnView } from "../../parts/turn";
import { Connect } from "../settings/models";
import { Composer } from "./composer";
import { Conversations } from "./conversations";
import { page } from "./page";
import { TEXTS } from "./texts";

/** How many of the latest questions of a conversation are shown at first. */
const SHOWN = 20;

export default function Chat() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const { agent: given } = useParams({ strict: false }) as { agent?: string };
  const { session = "" } = useSearch({ strict: false }) as { session?: string };
  const navigate = useNavigate();
  const agents = useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => ask<Part<Agent>>("GET", "/v1/agents", { signal, query: { limit: 100 } }),
  });
  const go = (agent: string, conversation: string) =>
    navigate({ to: `/chat/${encodeURIComponent(agent)}` as string, search: (conversation ? { session: conversation } : {}) as never });
  return (
    <>
      <h1>{title}</h1>
      <Asked query={agents} empty={(part) => (part.items.length ? undefined : <p className="hint">{say("noAgents")}</p>)}>
        {(part) => {
          const agent = given ?? part.items[0]?.name ?? "";
          const chosen = part.items.find((each) => each.name === agent);
          return (
            <div className="chat">
              <aside>
                <label>
                  {say("agent")}
                  <select value={chosen ? agent : ""} onChange={(event) => void go(event.target.value, "")}>
                    {!chosen && <option value="">{agent}</option>}
                    {part.items.map((each) => (
                      <option key={each.name}>{each.name}</option>
                    ))}
                  </select>
                </label>
                <div className="buttons">
                  <button type="button" onClick={() => void go(agent, "")}>
                    {say("newChat")}
                  </button>
                  <CopyLink agent={agent} />
                </div>
                <Conversations chosen={session} onChoose={(each) => void go(agent, each)} />
              </aside>
              {chosen ? (
                <Conversation key={`${agent} ${session}`} agent={chosen} session={session} onBegun={(each) => void go(agent, each)} />
              ) : (
                <Failure error={new Error(say("unknownAgent", { agent }))} />
              )}
            </div>
          );
        }}
      </Asked>
    </>
  );
}

function CopyLink({ agent }: { agent: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  return (
    <button
      type="button"
      onClick={() =>
        navigator.clipboard
          .writeText(`${location.origin}/studio/chat/${encodeURIComponent(agent)}`)
          .then(() => tell(common("copied")), (error: unknown) => tell(String(error)))
      }
    >
      {say("copyLink")}
    </button>
  );
}

function Conversation({ agent, session, onBegun }: { agent: Agent; session: string; onBegun: (session: string) => void }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const signedIn = useSession().data;
  const connects = (signedIn?.scopes.includes("admin") && signedIn.features.includes("connections")) ?? false;
  const [most, setMost] = useState(SHOWN);
  const [isConnecting, setConnecting] = useState(false);
  const [question, setQuestion] = useState("");
  const end = useRef<HTMLDivElement>(null);
  const runs = useQuery({
    queryKey: ["runs of", session, most],
    queryFn: ({ signal }) => ask<Part<Run>>("GET", "/v1/runs", { signal, query: { session, limit: most } }),
    enabled: session !== "",
  });
  const shown = (runs.data?.items ?? []).filter((each) => !each.parent).reverse();
  const last = shown.at(-1);
  const isRunning = last !== undefined && last.ended === null && last.status !== "interrupted";
  useEffect(() => {
    void end.current?.scrollIntoView({ block: "end" });
  }, [shown.length]);
  return (
    <section>
      {session === "" && (
        <div className="card">
          <p>{agent.model.startsWith("embedded") ? say("emptyEmbedded") : say("empty")}</p>
          <div className="samples">
            {(["sampleSum", "sampleTime", "sampleNote"] as const).map((each) => (
              <button key={each} type="button" onClick={() => setQuestion(say(each))}>
                {say(each)}
              </button>
            ))}
          </div>
        </div>
      )}
      {connects &&
        (isConnecting ? (
          <div className="card">
            <Connect onConnected={() => setConnecting(false)} />
          </div>
        ) : (
          <button type="button" onClick={() => setConnecting(true)}>
            {say("connect")}
          </button>
        ))}
      {runs.data?.next && (
        <button type="button" onClick={() => setMost(most + SHOWN)}>
          {common("more")}
        </button>
      )}
      <div role="log" aria-label={say("log")}>
        {shown.map((each) => (
          <Turn key={each.id} run={each} onAgain={setQuestion} />
        ))}
      </div>
      {runs.isError && !isProblem(runs.error, 404) && <Failure error={runs.error} onRetry={() => void runs.refetch()} />}
      <Composer
        agent={agent.name}
        session={session}
        running={isRunning ? last.id : ""}
        text={question}
        onText={setQuestion}
        onSent={(begun) => {
          void known.invalidateQueries({ queryKey: ["runs of", begun] });
          void known.invalidateQueries({ queryKey: ["sessions"] });
          if (begun !== session) onBegun(begun);
        }}
      />
      <div ref={end} />
    </section>
  );
}

function Turn({ run, onAgain }: { run: Run; onAgain: (question: string) => void }) {
  const say = useText(TEXTS);
  const followed = useRun(run.id);
  const approvals = useApprovals().data?.items.filter((each) => each.run === run.id) ?? [];
  const found = turn(followed.entries);
  return (
    <article aria-busy={!found.isOver}>
      <TurnView turn={found} words={followed.words} approvals={approvals} />
      {run.status === "interrupted" && (
        <button type="button" onClick={() => void ask("POST", `/v1/runs/${run.id}/resume`)}>
          {say("resume")}
        </button>
      )}
      {found.isOver && found.status !== "done" && (
        <button type="button" onClick={() => onAgain(run.question)}>
          {say("again")}
        </button>
      )}
    </article>
  );
}
