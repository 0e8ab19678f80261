// The chat with the draft of an agent, beside its form.
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useSession } from "../../app";
import { ask, isProblem } from "../../core/api";
import { useKept } from "../../core/kept";
import { useText } from "../../core/language";
import type { Part, Run } from "../../core/types";
import { Composer, type Begun, type Draft } from "../../parts/composer";
import type { Writing } from "../../parts/draft";
import { Failure } from "../../parts/failure";
import { Talk } from "../../parts/talk";
import { TEXTS } from "./texts";

const NO_MESSAGE: Draft = { text: "", branch: "" };

export function Trial({ path, draft }: { path: string; draft: Writing }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const user = useSession().data?.user ?? "";
  const [session, setSession] = useKept(JSON.stringify([user, path, "session"]), "");
  const [message, setMessage] = useKept<Draft>(JSON.stringify([user, path, "message"]), NO_MESSAGE);
  const runs = useQuery({
    queryKey: ["runs of", session],
    queryFn: ({ signal }) => ask<Part<Run>>("GET", "/v1/runs", { signal, query: { session, limit: 50 } }),
    enabled: session !== "",
  });
  const shown = (runs.data?.items ?? []).filter((each) => !each.parent).reverse();
  const last = shown.at(-1);
  const isRunning = last !== undefined && last.ended === null && last.status !== "interrupted";
  const isReady = draft.isSaved && draft.revision > 0;
  return (
    <section aria-label={say("talk")} className="trial">
      <h2>{say("talk")}</h2>
      <p className="hint">{say("talkHint")}</p>
      {session !== "" && (
        <div className="buttons">
          <button type="button" onClick={() => setSession("")}>
            {say("newChat")}
          </button>
        </div>
      )}
      <Talk runs={shown} onAsk={setMessage} />
      {runs.isError && !isProblem(runs.error, 404) && <Failure error={runs.error} onRetry={() => void runs.refetch()} />}
      <Composer
        to={JSON.stringify([path, draft.revision, session])}
        begin={(question, key) =>
          ask<Begun>("POST", `${path}/try`, { body: { revision: draft.revision, question, session: session || key }, once: key })
        }
        running={isRunning ? last.id : ""}
        draft={message}
        takesFiles={false}
        isReady={isReady}
        onDraft={setMessage}
        onSent={(begun) => {
          setSession(begun.session);
          void known.invalidateQueries({ queryKey: ["runs of", begun.session] });
        }}
      />
      {!isReady && <p className="hint">{say("notSaved")}</p>}
    </section>
  );
}
