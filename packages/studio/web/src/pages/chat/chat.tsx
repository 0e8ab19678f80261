// Talk with an agent: conversations at the side, each tool call as a card, and what waits for a person in its place.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

import { useSession } from "../../app";
import { useAnew } from "../../core/anew";
import { ask, askAll, isProblem } from "../../core/api";
import { useRun } from "../../core/follow";
import { useKept } from "../../core/kept";
import { useText } from "../../core/language";
import { useWide } from "../../core/media";
import { COMMON } from "../../core/texts";
import type { Agent, Part, Run, RunDetails } from "../../core/types";
import { Composer, type Begun, type Draft } from "../../parts/composer";
import { CopyLink } from "../../parts/copy-link";
import { Asked, Failure } from "../../parts/failure";
import { Talk, TurnOfRun } from "../../parts/talk";
import { Connect } from "../settings/models";
import { Conversations } from "./conversations";
import { page } from "./page";
import { TEXTS } from "./texts";

/** How many of the latest questions of a conversation are shown at first. */
const SHOWN = 20;
/** So near to its end, a conversation is followed as it grows. */
const NEAR_PX = 160;
const NO_DRAFT: Draft = { text: "", branch: "" };

export default function Chat() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const isWide = useWide();
  const { agent: given } = useParams({ strict: false }) as { agent?: string };
  const { session = "" } = useSearch({ strict: false }) as { session?: string };
  const navigate = useNavigate();
  const agents = useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => askAll<Agent>("/v1/agents", { signal }),
  });
  const first = useRef("");
  first.current ||= agents.data?.items[0]?.name ?? ""; // also when another one comes before it: this one is written to
  const agent = given ?? first.current;
  const [key, follows] = useConversationKey(agent, session);
  const go = (agent: string, conversation: string) =>
    navigate({ to: `/chat/${encodeURIComponent(agent)}` as string, search: (conversation ? { session: conversation } : {}) as never });
  return (
    <Asked query={agents} empty={(part) => (part.items.length ? undefined : <Nobody title={title} />)}>
      {(part) => {
        const chosen = part.items.find((each) => each.name === agent);
        return (
          <div className="chat">
            <aside>
              <h1>{title}</h1>
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
              <details key={String(isWide)} open={isWide}>
                <summary>{say("conversations")}</summary>
                <Conversations chosen={session} onChoose={(each) => void go(agent, each)} />
              </details>
            </aside>
            {chosen ? (
              <Conversation
                key={key}
                agent={chosen}
                session={session}
                onBegun={(each) => {
                  follows(each);
                  void go(agent, each);
                }}
              />
            ) : (
              <Failure error={new Error(say("unknownAgent", { agent }))} />
            )}
          </div>
        );
      }}
    </Asked>
  );
}

/**
 * The key of a conversation's parts. They stay where a person's own message leads on, as the first of a new conversation
 * does, so that what is typed meanwhile goes on. `follows`: the conversation to which a message leads.
 */
function useConversationKey(agent: string, session: string): [key: string, follows: (session: string) => void] {
  const [at, set] = useState({ agent, session, next: "", count: 0 });
  if (at.agent !== agent || at.session !== session) {
    const isNext = at.agent === agent && session !== "" && session === at.next;
    set({ agent, session, next: "", count: at.count + (isNext ? 0 : 1) });
  }
  return [String(at.count), (next) => set((now) => ({ ...now, next }))];
}

function Nobody({ title }: { title: string }) {
  return (
    <>
      <h1>{title}</h1>
      <p className="hint">{useText(TEXTS)("noAgents")}</p>
    </>
  );
}

function Conversation({ agent, session, onBegun }: { agent: Agent; session: string; onBegun: (session: string) => void }) {
  const common = useText(COMMON);
  const known = useQueryClient();
  const [most, setMost] = useState(SHOWN);
  const user = useSession().data?.user ?? "";
  const [draft, setDraft] = useKept<Draft>(JSON.stringify([user, agent.name, session]), NO_DRAFT);
  const runs = useAnew({
    queryKey: ["runs of", session],
    queryFn: ({ signal }) => ask<Part<Run>>("GET", "/v1/runs", { signal, query: { session, limit: most } }),
    enabled: session !== "",
    news: most,
  });
  const shown = (runs.data?.items ?? []).filter((each) => !each.parent).reverse();
  const last = shown.at(-1);
  const isRunning = last !== undefined && last.ended === null && last.status !== "interrupted";
  const [grows, follow] = useEnd();
  return (
    <section>
      {session === "" && <Empty agent={agent} onChosen={(text) => setDraft({ text, branch: "" })} />}
      <ConnectModel isQuiet={session !== ""} />
      {runs.data?.next && (
        <button type="button" onClick={() => setMost(most + SHOWN)}>
          {common("more")}
        </button>
      )}
      <div ref={grows}>
        <Talk runs={shown} onAsk={setDraft} isChat>
          {shown[0] && !runs.data?.next && <Earlier run={shown[0].id} />}
        </Talk>
      </div>
      {runs.isError && !isProblem(runs.error, 404) && <Failure error={runs.error} onRetry={() => void runs.refetch()} />}
      <Composer
        to={JSON.stringify([agent.name, session])}
        begin={(question, key, attachments) => {
          const body = { agent: agent.name, question, session: session || key };
          return ask<Begun>("POST", "/v1/runs", { body: attachments.length ? { ...body, attachments } : body, once: key });
        }}
        running={isRunning ? last.id : ""}
        draft={draft}
        onDraft={setDraft}
        onSent={({ session: begun }) => {
          follow();
          void known.invalidateQueries({ queryKey: ["runs of", begun] });
          void known.invalidateQueries({ queryKey: ["sessions"] });
          if (begun !== session) onBegun(begun);
        }}
      />
    </section>
  );
}

/** What was said before this conversation branched off: the turns of the one that it branched off from. */
function Earlier({ run }: { run: string }) {
  const forked = useRun(run).entries[0]?.forked ?? "";
  const before = useQuery({
    queryKey: ["before", forked],
    enabled: forked !== "",
    queryFn: async ({ signal }) => {
      const { session, started } = await ask<RunDetails>("GET", `/v1/runs/${encodeURIComponent(forked)}`, { signal });
      const query = { session, until: started, limit: SHOWN };
      const part = session ? await ask<Part<Run>>("GET", "/v1/runs", { signal, query }) : { items: [], next: null };
      const turns = part.items.filter((each) => !each.parent).reverse();
      return { turns, first: turns[0]?.id ?? forked, isAll: part.next === null };
    },
    staleTime: Infinity,
  });
  if (!before.data) return null;
  return (
    <>
      {before.data.isAll && <Earlier run={before.data.first} />}
      {before.data.turns.map((each) => (
        <TurnOfRun key={each.id} run={each} />
      ))}
    </>
  );
}

function Empty({ agent, onChosen }: { agent: Agent; onChosen: (question: string) => void }) {
  const say = useText(TEXTS);
  return (
    <div className="welcome">
      <h2>{say("welcome")}</h2>
      <p>{agent.model.startsWith("embedded") ? say("emptyEmbedded") : say("empty")}</p>
      <div className="samples">
        {(["sampleSum", "sampleTime", "sampleNote"] as const).map((each) => (
          <button key={each} type="button" onClick={() => onChosen(say(each))}>
            {say(each)}
          </button>
        ))}
      </div>
    </div>
  );
}

function ConnectModel({ isQuiet }: { isQuiet: boolean }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const [isConnecting, setConnecting] = useState(false);
  const session = useSession().data;
  if (!session?.scopes.includes("admin") || !session.features.includes("connections")) return null;
  if (!isConnecting) {
    return (
      <p className="connect">
        <button type="button" className={isQuiet ? "quiet" : ""} onClick={() => setConnecting(true)}>
          {say("connect")}
        </button>
      </p>
    );
  }
  return (
    <div className="card">
      <h2>{say("connect")}</h2>
      <Connect onConnected={() => setConnecting(false)}>
        <button type="button" onClick={() => setConnecting(false)}>
          {common("cancel")}
        </button>
      </Connect>
    </div>
  );
}

/** Keeps the end of what grows in view, as long as a person has not scrolled away from it; and from a call on again. */
function useEnd(): [RefObject<HTMLDivElement | null>, () => void] {
  const element = useRef<HTMLDivElement>(null);
  const isNear = useRef(true);
  useEffect(() => {
    const page = document.documentElement;
    let top = page.scrollTop;
    const look = () => {
      const isEnd = page.scrollHeight - page.clientHeight - page.scrollTop < NEAR_PX;
      if (isEnd || page.scrollTop < top) isNear.current = isEnd; // what grows while the page scrolls down leaves it so
      top = page.scrollTop;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    if (!element.current) return;
    const page = document.documentElement;
    const grown = new ResizeObserver(() => isNear.current && page.scrollTo({ top: page.scrollHeight }));
    grown.observe(element.current);
    return () => grown.disconnect();
  }, []);
  return [
    element,
    () => {
      isNear.current = true;
      document.documentElement.scrollTo({ top: document.documentElement.scrollHeight });
    },
  ];
}
