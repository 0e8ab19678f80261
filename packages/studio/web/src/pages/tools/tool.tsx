// One tool: what it declares, tried with a form, published, and its versions.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { ask, isProblem, once } from "../../core/api";
import { useApprovals } from "../../core/approvals";
import { parametersOf } from "../../core/declared";
import { useRun } from "../../core/follow";
import { usePreferences, useText } from "../../core/language";
import { time, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import { turn } from "../../core/turns";
import type { CallAnswer, CallWaits, Change, Checked, Part, ToolSchema, Version } from "../../core/types";
import { useDraft, type Writing } from "../../parts/draft";
import { Failure } from "../../parts/failure";
import { Form, read, type FormSchema, type Values } from "../../parts/form";
import { useSettled } from "../../parts/settled";
import { StateText, Value } from "../../parts/values";
import { TurnView } from "../../parts/turn";
import { TEXTS } from "./texts";
import { useBuilds } from "./tools";

export function ToolPage({ name }: { name: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const builds = useBuilds();
  const path = `/v1/tools/${encodeURIComponent(name)}`;
  const tool = useQuery({
    queryKey: ["tool", name],
    queryFn: ({ signal }) => ask<ToolSchema>("GET", path, { signal }).catch(nothing),
  });
  const isOfSettings = tool.data?.version === 0; // then there is no draft of this name
  const draft = useDraft(path, builds && tool.isSuccess && !isOfSettings, tool.data?.declaration ?? undefined);
  const isOwn = draft.text !== undefined;
  if (tool.isPending) return <p className="hint">{common("loading")}</p>;
  if (tool.isError) return <Failure error={tool.error} onRetry={() => void tool.refetch()} />;
  return (
    <>
      <p>
        <Link to={"/tools" as string}>{say("all")}</Link>
      </p>
      <h1>{told(name)}</h1>
      {tool.data?.description && <p>{told(tool.data.description)}</p>}
      {tool.data && tool.data.version > 0 && <p className="hint">{say("published", { number: tool.data.version })}</p>}
      {isOfSettings && <p className="hint">{say("notOwn")}</p>}
      {draft.isPending && <p className="hint">{common("loading")}</p>}
      {!tool.data && !isOwn && !draft.isPending && (draft.error ? <Failure error={draft.error} /> : <p>{common("gone")}</p>)}
      {isOwn && <Editor name={name} path={path} draft={draft} />}
      {(isOwn || tool.data) && (
        <Try path={path} draft={isOwn ? draft : undefined} schema={isOwn ? parametersOf(draft.text ?? "") : (tool.data?.parameters as FormSchema)} />
      )}
      {isOwn && <Versions name={name} path={path} inUse={tool.data?.version ?? 0} />}
    </>
  );
}

function nothing(error: unknown): null {
  if (isProblem(error, 404)) return null;
  throw error;
}

function Editor({ name, path, draft }: { name: string; path: string; draft: Writing }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const [buttons, isSettled] = useSettled<HTMLDivElement>();
  const checked = useQuery({
    queryKey: ["check", path, draft.revision],
    queryFn: ({ signal }) => ask<Checked>("POST", `${path}/check`, { signal, body: { text: draft.text ?? "" } }),
    enabled: draft.isSaved,
    placeholderData: (before) => before,
  });
  const refresh = () => Promise.all(["tool", "tools", "versions"].map((each) => known.invalidateQueries({ queryKey: [each] })));
  const publish = useMutation({
    mutationFn: () => ask<Version>("POST", `${path}/publish`, { body: { revision: draft.revision } }),
    onSuccess: refresh,
  });
  const unpublish = useMutation({
    mutationFn: () => ask<{ used_by: string[] }>("POST", `${path}/unpublish`),
    onSuccess: refresh,
  });
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => ask("DELETE", `${path}/draft`),
    onSuccess: async () => {
      known.removeQueries({ queryKey: ["draft", path] });
      await refresh();
      return navigate({ to: "/tools" as string });
    },
  });
  const problems = checked.data?.problems ?? [];
  const mayPublish = isSettled && draft.isSaved && !publish.isPending;
  return (
    <section className="card" aria-label={say("source")}>
      <label>
        {say("source")}
        <textarea className="code" rows={14} spellCheck={false} value={draft.text ?? ""} onChange={(event) => draft.write(event.target.value)} />
      </label>
      <p role={draft.error ? "alert" : "status"} className="hint">
        {draft.isSaved ? say("saved") : draft.error ? say("unsaved", { why: why(draft.error) }) : say("saving")}
      </p>
      {draft.theirs && (
        <div role="group" aria-label={say("theirs")} className="card">
          <h2>{say("theirs")}</h2>
          <p>{say("theirsTold")}</p>
          <Value value={draft.theirs.text} />
          <div className="buttons">
            <button type="button" onClick={draft.keepMine}>
              {say("mine")}
            </button>
            <button type="button" onClick={draft.takeTheirs}>
              {say("take")}
            </button>
          </div>
        </div>
      )}
      {problems.length > 0 ? (
        <ul aria-label={say("problems")}>
          {problems.map((each, place) => (
            <li key={place}>
              {say("at", { line: each.line, message: told(each.message) })} {each.hint && <span className="hint">{told(each.hint)}</span>}
            </li>
          ))}
        </ul>
      ) : (
        checked.data && <p className="hint">{say("noProblems")}</p>
      )}
      <div className="buttons" ref={buttons}>
        <button type="button" className="primary" aria-disabled={!mayPublish} onClick={() => mayPublish && publish.mutate()}>
          {say("publish")}
        </button>
        <button type="button" className="quiet" onClick={() => unpublish.mutate()}>
          {say("unpublish")}
        </button>
        <button type="button" className="quiet" onClick={() => remove.mutate()}>
          {say("delete")}
        </button>
      </div>
      {publish.data && <p role="status">{say("published", { number: publish.data.number })}</p>}
      {unpublish.data && unpublish.data.used_by.length > 0 && <p role="status">{say("usedBy", { names: unpublish.data.used_by.map(told).join(", ") })}</p>}
      {[checked.error, publish.error, unpublish.error, remove.error].filter(Boolean).map((error, place) => (
        <Failure key={`${name} ${place}`} error={error} />
      ))}
    </section>
  );
}

function why(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A call of the draft, or of a tool that is not made here. */
function Try({ path, draft, schema }: { path: string; draft: Writing | undefined; schema: FormSchema | undefined }) {
  const say = useText(TEXTS);
  const [values, setValues] = useState<Values>({});
  const [written, setWritten] = useState("{}");
  const tried = useMutation({
    mutationFn: () => {
      const given = schema ? Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")) : read(written, {});
      const body = draft ? { revision: draft.revision, arguments: given } : { arguments: given };
      return ask<CallAnswer | CallWaits>("POST", `${path}/${draft ? "try" : "call"}`, { body, once: once() });
    },
  });
  const isReady = !draft || draft.isSaved;
  return (
    <section className="card" aria-label={say("try")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) tried.mutate();
        }}
      >
        {schema ? (
          <Form schema={schema} values={values} onChange={setValues} />
        ) : (
          <label>
            {say("arguments")}
            <textarea className="code" rows={3} value={written} onChange={(event) => setWritten(event.target.value)} />
          </label>
        )}
        <p className="hint">{say("tryHint")}</p>
        <button type="submit" aria-disabled={!isReady || tried.isPending}>
          {say("try")}
        </button>
      </form>
      <section aria-label={say("result")} aria-live="polite">
        {tried.isError && <Failure error={tried.error} />}
        {tried.data && <Outcome came={tried.data} />}
      </section>
    </section>
  );
}

function Outcome({ came }: { came: CallAnswer | CallWaits }) {
  const say = useText(TEXTS);
  const followed = useRun("tool" in came ? "" : came.run);
  const waiting = useApprovals().data?.items.filter((each) => each.run === came.run) ?? [];
  return (
    <>
      {"tool" in came &&
        (came.error ? (
          <>
            <StateText state="failed" />
            <Value value={came.error.message} />
          </>
        ) : (
          <>
            <StateText state="done" />
            <Value value={came.result} />
          </>
        ))}
      {!("tool" in came) && <TurnView turn={turn(followed.entries)} approvals={waiting} />}
      <p>
        <Link to={`/runs/${came.run}` as string}>{say("run")}</Link>
      </p>
    </>
  );
}

function Versions({ name, path, inUse }: { name: string; path: string; inUse: number }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const language = usePreferences((each) => each.language);
  const [compared, setCompared] = useState(0);
  const versions = useQuery({
    queryKey: ["versions", name],
    queryFn: ({ signal }) => ask<Part<Version>>("GET", `${path}/versions`, { signal }).catch(nothing),
  });
  const difference = useQuery({
    queryKey: ["difference", name, compared],
    queryFn: ({ signal }) => ask<{ changes: Change[] }>("GET", `${path}/diff`, { signal, query: { old: compared } }),
    enabled: compared > 0,
    staleTime: 0,
  });
  const rollback = useMutation({
    mutationFn: (number: number) => ask("POST", `${path}/rollback`, { body: { number } }),
    onSuccess: () => Promise.all(["tool", "tools", "versions"].map((each) => known.invalidateQueries({ queryKey: [each] }))),
  });
  if (!versions.data?.items.length) return null;
  return (
    <section className="card" aria-label={say("versions")}>
      <h2>{say("versions")}</h2>
      <ul className="versions">
        {versions.data.items.map((each) => (
          <li key={each.number}>
            <button type="button" className="quiet" aria-expanded={compared === each.number} onClick={() => setCompared(compared === each.number ? 0 : each.number)}>
              {each.number}
            </button>{" "}
            {time(each.at, language)} {told(each.by)}{" "}
            {each.number === inUse ? (
              <span className="hint">{say("inUse")}</span>
            ) : (
              <button type="button" onClick={() => rollback.mutate(each.number)}>
                {say("rollback")}
              </button>
            )}
          </li>
        ))}
      </ul>
      {rollback.isError && <Failure error={rollback.error} />}
      {compared > 0 && difference.data && (
        <>
          <h3>{say("differs", { number: compared })}</h3>
          {difference.data.changes.length === 0 && <p className="hint">{say("same")}</p>}
          <ul>
            {difference.data.changes.map((each, place) => (
              <li key={place}>
                {say(each.kind)} {told(each.place)}: <code>{told(each.old)}</code> → <code>{told(each.new)}</code> {told(each.breaks)}
              </li>
            ))}
          </ul>
        </>
      )}
      {difference.isError && <Failure error={difference.error} />}
    </section>
  );
}
