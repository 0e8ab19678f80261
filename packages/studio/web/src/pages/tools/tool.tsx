// One tool: what it declares, tried with a form, published, and its versions.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";

import { useBuilds, useSession } from "../../app";
import { ask, orNull } from "../../core/api";
import { useApprovalsOf } from "../../core/approvals";
import { parametersOf } from "../../core/declared";
import { useRun } from "../../core/follow";
import { useKept } from "../../core/kept";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import { turn } from "../../core/turns";
import type { CallAnswer, CallWaits, ToolSchema } from "../../core/types";
import { DraftState, InUse, Release, Shadowed, showLine, Source } from "../../parts/definition";
import { useDraft, type Writing } from "../../parts/draft";
import { Failed } from "../../parts/failed";
import { Asked, Failure } from "../../parts/failure";
import { Form, read, type FormSchema, type Values } from "../../parts/form";
import { usePress } from "../../parts/press";
import { StateText, Value } from "../../parts/values";
import { TurnView } from "../../parts/turn";
import { TEXTS } from "./texts";

const NO_VALUES: Values = {};

export function ToolPage({ name }: { name: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const builds = useBuilds();
  const path = `/v1/tools/${encodeURIComponent(name)}`;
  const tool = useQuery({
    queryKey: ["tool", name],
    queryFn: ({ signal }) => ask<ToolSchema>("GET", path, { signal }).catch(orNull),
  });
  const isOfSettings = tool.data?.version === 0; // then there is no draft of this name
  const draft = useDraft(path, builds && tool.data !== undefined && !isOfSettings, tool.data?.declaration ?? undefined);
  const isOwn = draft.text !== undefined;
  return (
    <Asked query={tool}>
      {() => (
        <>
          <p>
            <Link to={"/tools" as string}>{say("all")}</Link>
          </p>
          <h1>{told(name)}</h1>
          {tool.data?.description && <p>{told(tool.data.description)}</p>}
          {tool.data && tool.data.version > 0 && <InUse number={tool.data.version} />}
          {isOfSettings && <p className="hint">{say(tool.data?.source === "workflow" ? "ofWorkflow" : "notOwn")}</p>}
          {isOfSettings && tool.data?.source !== "workflow" && <Shadowed path={path} />}
          {draft.isPending && <p className="hint">{common("loading")}</p>}
          {!isOwn && !draft.isPending && (draft.error ? <Failure error={draft.error} /> : !tool.data && <p>{common("gone")}</p>)}
          {isOwn && <Editor name={name} path={path} draft={draft} inUse={tool.data?.version ?? 0} />}
          {(isOwn || tool.data) && (
            <Try path={path} draft={isOwn ? draft : undefined} schema={isOwn ? parametersOf(draft.text ?? "") : (tool.data?.parameters as FormSchema)} />
          )}
        </>
      )}
    </Asked>
  );
}

function Editor({ name, path, draft, inUse }: { name: string; path: string; draft: Writing; inUse: number }) {
  const say = useText(TEXTS);
  const source = useRef<HTMLTextAreaElement>(null);
  return (
    <section className="card" aria-label={say("source")}>
      <Source ref={source} label={say("source")} draft={draft} />
      <DraftState draft={draft} />
      <Release kind="tools" name={name} path={path} draft={draft} inUse={inUse} onJump={(problem) => showLine(source.current, problem.line)} />
    </section>
  );
}

/** A call of the draft, or of a tool that is not made here. */
function Try({ path, draft, schema }: { path: string; draft: Writing | undefined; schema: FormSchema | undefined }) {
  const say = useText(TEXTS);
  const user = useSession().data?.user ?? "";
  const [values, setValues] = useKept<Values>(JSON.stringify([user, path, "values"]), NO_VALUES);
  const [written, setWritten] = useKept(JSON.stringify([user, path, "written"]), "{}");
  const tried = usePress({
    mutationFn: (body: { revision?: number; arguments: unknown }, key) => ask<CallAnswer | CallWaits>("POST", `${path}/${draft ? "try" : "call"}`, { body, once: key }),
  });
  function begin() {
    const given = schema ? Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")) : read(written, {});
    tried.mutate({ ...(draft && { revision: draft.revision }), arguments: given });
  }
  const isReady = !draft || draft.isSaved;
  return (
    <section className="card" aria-label={say("try")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !tried.isPending) begin();
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
  const waiting = useApprovalsOf(came.run);
  return (
    <>
      {"tool" in came &&
        (came.error ? (
          <>
            <StateText state="failed" />
            <Failed error={came.error} />
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
