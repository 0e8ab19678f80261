// Places with many tools: MCP servers, APIs and remote agents; what each offers, and what nobody has approved yet.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";

import { useBuilds } from "../../app";
import { ask, orNull } from "../../core/api";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { PublishedText, ServerLine, ServerOffers } from "../../core/types";
import { DraftState, InUse, Release, showLine, Source } from "../../parts/definition";
import { useDraft } from "../../parts/draft";
import { Asked, Failure } from "../../parts/failure";
import { ListTable, useList } from "../../parts/list";
import { TEXTS } from "./texts";

/** Before the name of a server in the path of its page: no tool can be called so. */
export const SERVER = "server:";

export function Servers() {
  const say = useText(TEXTS);
  const list = useList<ServerLine>(["servers"], "/v1/servers", { drafts: true });
  return (
    <>
      <h2>{say("servers")}</h2>
      <ListTable
        label={say("servers")}
        list={list}
        keyOf={(each) => each.name}
        empty={say("noServers")}
        columns={[
          [say("name"), (each) => <Link to={`/tools/${encodeURIComponent(SERVER + each.name)}` as string}>{told(each.name)}</Link>, "main"],
          [say("about"), (each) => brief(each.about, 120)],
          [say("version"), (each) => each.version || say("draft")],
        ]}
      />
    </>
  );
}

export function ServerPage({ name }: { name: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const builds = useBuilds();
  const path = `/v1/servers/${encodeURIComponent(name)}`;
  const source = useRef<HTMLTextAreaElement>(null);
  const server = useQuery({
    queryKey: ["server", name],
    queryFn: ({ signal }) => ask<PublishedText>("GET", path, { signal }).catch(orNull),
  });
  const draft = useDraft(path, builds && server.data !== undefined, server.data?.text);
  const inUse = server.data?.version ?? 0;
  return (
    <Asked query={server}>
      {() => (
        <>
          <p>
            <Link to={"/tools" as string}>{say("all")}</Link>
          </p>
          <h1>{told(name)}</h1>
          {inUse > 0 && <InUse number={inUse} />}
          {draft.isPending && <p className="hint">{common("loading")}</p>}
          {draft.text === undefined && !draft.isPending && (draft.error ? <Failure error={draft.error} /> : <p>{common("gone")}</p>)}
          {draft.text !== undefined && (
            <>
              <section className="card" aria-label={say("source")}>
                <Source ref={source} label={say("source")} draft={draft} />
                <DraftState draft={draft} />
                <Release kind="servers" name={name} path={path} draft={draft} inUse={inUse} onJump={(problem) => showLine(source.current, problem.line)} />
              </section>
              {draft.isSaved && draft.revision > 0 && <Offers path={path} revision={draft.revision} />}
            </>
          )}
        </>
      )}
    </Asked>
  );
}

/** The tools of a server as they are now; those first that nobody has approved. */
function Offers({ path, revision }: { path: string; revision: number }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const asked = useQuery({
    queryKey: ["offers", path, revision],
    queryFn: ({ signal }) => ask<ServerOffers>("GET", `${path}/offers`, { signal }),
    retry: false, // what is wrong with the text is told beside the text
    refetchOnWindowFocus: false,
  });
  return (
    <section className="card" aria-label={say("offers")}>
      <h2>{say("offers")}</h2>
      <p className="hint">{say("lookHint")}</p>
      {asked.isPending && <p className="hint">{common("loading")}</p>}
      {asked.isError && <Failure error={asked.error} />}
      <ul>
        {asked.data?.items.map((each) => (
          <li key={each.tool}>
            <strong>{told(each.tool)}</strong>{" "}
            {each.state !== "same" && (
              <>
                <span className="badge">{say(each.state === "new" ? "isNew" : each.state)}</span>{" "}
              </>
            )}
            {brief(each.description, 200)}
          </li>
        ))}
      </ul>
      <button type="button" aria-disabled={asked.isFetching} onClick={() => asked.isFetching || void asked.refetch()}>
        {say("look")}
      </button>
    </section>
  );
}
