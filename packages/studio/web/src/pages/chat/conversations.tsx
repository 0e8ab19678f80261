// The conversations of this person: searched, named, deleted, exported.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { cut, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Part, SessionInfo } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { download } from "../runs/run";
import { TEXTS } from "./texts";

function nameOf(session: SessionInfo): string {
  return told(session.title || session.question);
}

export function Conversations({ chosen, onChoose }: { chosen: string; onChoose: (session: string) => void }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const [text, setText] = useState("");
  const [title, setTitle] = useState<string>();
  const sessions = useQuery({
    queryKey: ["sessions", text],
    queryFn: ({ signal }) => ask<Part<SessionInfo>>("GET", "/v1/sessions", { signal, query: { text, limit: 30 } }),
  });
  const path = `/v1/sessions/${encodeURIComponent(chosen)}`;
  const current = sessions.data?.items.find((each) => each.id === chosen);
  const named = current ? cut(nameOf(current), 80).text : "";
  const refresh = () => known.invalidateQueries({ queryKey: ["sessions"] });
  const act = useMutation({
    mutationFn: async (what: "delete" | "export" | "rename") => {
      if (what === "export") return download(`${path}/export`, "conversation.md", { format: "markdown" });
      if (what === "delete") await ask("DELETE", path);
      else await ask("PATCH", path, { body: { title } });
      await refresh();
      if (what === "delete") onChoose("");
      else setTitle(undefined);
    },
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
                  {cut(nameOf(each), 80).text}
                </a>
              </li>
            ))}
          </ul>
        )}
      </Asked>
      {chosen && (
        <div className="buttons">
          <button type="button" className="quiet" aria-expanded={title !== undefined} onClick={() => setTitle(title === undefined ? named : undefined)}>
            {say("rename")}
          </button>
          <button type="button" className="quiet" onClick={() => act.mutate("export")}>
            {say("export")}
          </button>
          <button type="button" className="quiet" onClick={() => act.mutate("delete")}>
            {say("delete")}
          </button>
        </div>
      )}
      {title !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            act.mutate("rename");
          }}
        >
          <label>
            {say("title")}
            <input required value={title} onChange={(event) => setTitle(event.target.value)} />
          </label>
          <button type="submit">{common("save")}</button>
        </form>
      )}
      {act.isError && <Failure error={act.error} />}
    </>
  );
}
