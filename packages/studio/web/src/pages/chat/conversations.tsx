// The conversations of this person: searched, named, deleted, exported.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Part, SessionInfo } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";
import { download } from "../runs/run";
import { TEXTS } from "./texts";

function nameOf(session: SessionInfo): string {
  return told(session.title || session.question);
}

export function Conversations({ chosen, onChoose }: { chosen: string; onChoose: (session: string) => void }) {
  const say = useText(TEXTS);
  const [text, setText] = useState("");
  const sessions = useQuery({
    queryKey: ["sessions", text],
    queryFn: ({ signal }) => ask<Part<SessionInfo>>("GET", "/v1/sessions", { signal, query: { text, limit: 30 } }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <label>
        {say("search")}
        <input type="search" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <Asked query={sessions} empty={(part) => (part.items.length ? undefined : <p className="hint">{say("noConversations")}</p>)}>
        {(part) => (
          <ul aria-label={say("conversations")}>
            {part.items.map((each) => (
              <li key={each.id}>
                <a
                  href={`?session=${encodeURIComponent(each.id)}`}
                  aria-current={each.id === chosen}
                  onClick={(event) => {
                    event.preventDefault();
                    onChoose(each.id);
                  }}
                >
                  {brief(nameOf(each), 80)}
                </a>
              </li>
            ))}
          </ul>
        )}
      </Asked>
      {chosen && <Chosen key={chosen} session={chosen} info={sessions.data?.items.find((each) => each.id === chosen)} onDeleted={() => onChoose("")} />}
    </>
  );
}

/** What can be done with the conversation that is shown. */
function Chosen({ session, info, onDeleted }: { session: string; info: SessionInfo | undefined; onDeleted: () => void }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const [title, setTitle] = useState<string>();
  const path = `/v1/sessions/${encodeURIComponent(session)}`;
  const named = info ? brief(nameOf(info), 80) : "";
  const refresh = () => known.invalidateQueries({ queryKey: ["sessions"] });
  const save = usePress({ mutationFn: () => download(`${path}/export`, "conversation.md", { format: "markdown" }) });
  const remove = usePress({ mutationFn: () => ask("DELETE", path), onSettled: refresh, then: onDeleted });
  const rename = usePress({
    mutationFn: (title: string) => ask("PATCH", path, { body: { title } }),
    onSuccess: refresh,
    then: (_, sent) => setTitle((now) => (now === sent ? undefined : now)),
  });
  return (
    <>
      <div className="buttons">
        <button type="button" className="quiet" aria-expanded={title !== undefined} onClick={() => setTitle(title === undefined ? named : undefined)}>
          {say("rename")}
        </button>
        <button type="button" className="quiet" onClick={() => save.mutate()}>
          {say("export")}
        </button>
        <button type="button" className="quiet" onClick={() => remove.mutate()}>
          {say("delete")}
        </button>
      </div>
      {title !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            rename.mutate(title);
          }}
        >
          <label>
            {say("title")}
            <input required value={title} onChange={(event) => setTitle(event.target.value)} />
          </label>
          <button type="submit">{common("save")}</button>
        </form>
      )}
      {[save.error, remove.error, rename.error].filter(Boolean).map((error, place) => (
        <Failure key={place} error={error} />
      ))}
    </>
  );
}
