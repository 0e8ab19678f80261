// One agent: its form, what it answers as a draft, published, and its versions.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";

import { useBuilds } from "../../app";
import { agentOf } from "../../core/agent";
import { ask, orNull } from "../../core/api";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { AgentDetails } from "../../core/types";
import { CopyLink } from "../../parts/copy-link";
import { DraftState, InUse, Release, Shadowed, showLine, Source, type Told } from "../../parts/definition";
import { useDraft, type Writing } from "../../parts/draft";
import { Asked, Failure } from "../../parts/failure";
import { Fields } from "./fields";
import { TEXTS } from "./texts";
import { Trial } from "./trial";

export function AgentPage({ name }: { name: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const builds = useBuilds();
  const path = `/v1/agents/${encodeURIComponent(name)}`;
  const agent = useQuery({
    queryKey: ["agent", name],
    queryFn: ({ signal }) => ask<AgentDetails>("GET", path, { signal }).catch(orNull),
  });
  const isOfSettings = Boolean(agent.data) && builds && agent.data?.definition === null; // then there is no draft of this name
  const draft = useDraft(path, builds && agent.data !== undefined && !isOfSettings, agent.data?.definition ?? undefined);
  const isOwn = draft.text !== undefined;
  const inUse = agent.data?.version ?? 0;
  return (
    <Asked query={agent}>
      {() => (
        <>
          <p>
            <Link to={"/agents" as string}>{say("all")}</Link>
          </p>
          <h1>{told(name)}</h1>
          {agent.data?.description && <p>{told(agent.data.description)}</p>}
          {inUse > 0 && <InUse number={inUse} />}
          {isOfSettings && <p className="hint">{say("notOwn")}</p>}
          {isOfSettings && <Shadowed path={path} />}
          {agent.data && (
            <div className="buttons">
              <Link className="button" to={`/chat/${encodeURIComponent(name)}` as string}>
                {say("chat")}
              </Link>
              <CopyLink agent={name} />
            </div>
          )}
          {draft.isPending && <p className="hint">{common("loading")}</p>}
          {!isOwn && !draft.isPending && (draft.error ? <Failure error={draft.error} /> : !agent.data && <p>{common("gone")}</p>)}
          {isOwn && (
            <div className="beside">
              <Editor name={name} path={path} draft={draft} inUse={inUse} />
              <Trial path={path} draft={draft} />
            </div>
          )}
        </>
      )}
    </Asked>
  );
}

function Editor({ name, path, draft, inUse }: { name: string; path: string; draft: Writing; inUse: number }) {
  const say = useText(TEXTS);
  const section = useRef<HTMLElement>(null);
  const details = useRef<HTMLDetailsElement>(null);
  const source = useRef<HTMLTextAreaElement>(null);
  const text = draft.text ?? "";
  const form = agentOf(text);
  function jump({ place, line }: Told) {
    const field = section.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(place.split(".", 1)[0] ?? "")}"]`);
    if (field) return field.focus();
    if (details.current) details.current.open = true;
    showLine(source.current, line);
  }
  return (
    <section className="card" aria-label={say("form")} ref={section}>
      {form ? <Fields form={form} text={text} write={draft.write} /> : <p className="hint">{say("onlySource")}</p>}
      <details ref={details} open={form === undefined || undefined}>
        <summary>{say("source")}</summary>
        <Source ref={source} label={say("source")} draft={draft} />
      </details>
      <DraftState draft={draft} />
      <Release kind="agents" name={name} path={path} draft={draft} inUse={inUse} onJump={jump} />
    </section>
  );
}
