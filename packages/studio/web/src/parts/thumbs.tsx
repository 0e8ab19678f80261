// The two thumbs below an answer: a person says whether the answer was good, and why.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useSession } from "../app";
import { ask } from "../core/api";
import { dictionary, useText } from "../core/language";
import { told } from "../core/shown";
import type { Scores } from "../core/types";
import { Failure } from "./failure";
import { usePress } from "./press";
import { tell } from "./status";

const TEXTS = dictionary(
  { up: "Good answer", down: "Bad answer", why: "Why? You can leave this empty.", send: "Send", thanks: "Thank you. This is on the record of the answer." },
  { up: "回答很好", down: "回答不好", why: "为什么？可以不填。", send: "发送", thanks: "谢谢。您的评价已写入该回答的记录。" },
);
const THUMBS = [
  ["up", 1, 0],
  ["down", 0, 180],
] as const;
/** A hand with its thumb up. */
const HAND = "M3 11h4v10H3z M10 11l4-8c1.5 0 2.4 1 2.2 2.6L15.5 9H20c1.2 0 2 1 1.8 2.2l-1.4 8c-.2 1-1 1.8-2 1.8H10z";

export function Thumbs({ run }: { run: string }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const user = useSession().data?.user;
  const path = `/v1/runs/${encodeURIComponent(run)}/scores`;
  const [comment, setComment] = useState<string>();
  const scores = useQuery({ queryKey: ["scores", run], queryFn: ({ signal }) => ask<Scores>("GET", path, { signal }), staleTime: Infinity });
  const own = scores.data?.items.find((each) => each.name === "thumb" && each.by === user && each.user === "");
  const give = usePress({
    scope: { id: path }, // the last press counts
    mutationFn: async ({ value, comment = "" }: { value: number; comment?: string }) => {
      const isTakenBack = comment === "" && own?.value === value;
      if (isTakenBack) await ask("DELETE", path, { query: { name: "thumb" } });
      else await ask("POST", path, { body: { name: "thumb", value, comment } });
      setComment((typed) => (isTakenBack || comment ? undefined : (typed ?? "")));
      if (!isTakenBack) tell(say("thanks"));
    },
    onSuccess: () => known.invalidateQueries({ queryKey: ["scores", run] }),
  });
  if (!scores.data) return null; // the run is forgotten, or the server is away: there is nothing to rate
  return (
    <>
      {THUMBS.map(([name, value, turned]) => (
        <button
          key={name}
          type="button"
          className="quiet"
          aria-label={say(name)}
          title={say(name)}
          aria-pressed={own?.value === value}
          onClick={() => give.mutate({ value })}
        >
          <svg className="thumb" viewBox="0 0 24 24" aria-hidden="true">
            <path d={HAND} transform={`rotate(${turned} 12 12)`} />
          </svg>
        </button>
      ))}
      {own?.comment && <span className="hint">{told(own.comment)}</span>}
      {own && comment !== undefined && (
        <form
          className="buttons"
          onSubmit={(event) => {
            event.preventDefault();
            if (comment.trim()) give.mutate({ value: own.value, comment: comment.trim() });
            else setComment(undefined);
          }}
        >
          <input aria-label={say("why")} placeholder={say("why")} maxLength={4_000} value={comment} onChange={(event) => setComment(event.target.value)} />
          <button type="submit">{say("send")}</button>
        </form>
      )}
      {give.isError && <Failure error={give.error} />}
    </>
  );
}
