// Runs of a workflow: the dialog that begins one, the list of those there are, and what came of the one that is shown.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { useAnew } from "../../core/anew";
import { ask } from "../../core/api";
import { useApprovalsOf } from "../../core/approvals";
import { useRun } from "../../core/follow";
import { type Flow, flowOf } from "../../core/flow/document";
import { type NodeState, nodeStates } from "../../core/flow/states";
import { usePreferences, useText } from "../../core/language";
import { time } from "../../core/shown";
import type { Timeline } from "../../core/spans";
import { turn } from "../../core/turns";
import type { Part, Run, RunDetails } from "../../core/types";
import type { Writing } from "../../parts/draft";
import { Dialog } from "../../parts/dialog";
import { Failure } from "../../parts/failure";
import { Form, type FormSchema, read, type Values } from "../../parts/form";
import { usePress } from "../../parts/press";
import { TurnView } from "../../parts/turn";
import { StateText, Value } from "../../parts/values";
import { TEXTS } from "./texts";

/** A run that is shown, and how each node stands in it. */
export interface Shown {
  run: string;
  states: ReadonlyMap<string, NodeState>;
  /** The definition with which it began, as JSON text. */
  definition: string | null;
}

const NOTHING: Shown = { run: "", states: new Map(), definition: null };

export function useShown(run: string, flow: Flow | undefined): Shown {
  const { entries } = useRun(run);
  const timeline = useAnew({
    queryKey: ["timeline", run],
    queryFn: ({ signal }) => ask<Timeline>("GET", `/v1/runs/${encodeURIComponent(run)}/timeline`, { signal }),
    enabled: run !== "",
    news: entries.length,
  });
  const { isOver } = turn(entries);
  const definition = timeline.data?.definition ?? null;
  const ran = useMemo(() => (definition ? flowOf(definition) : undefined), [definition]) ?? flow;
  const kinds = JSON.stringify(ran?.nodes.map(({ path, type }) => ({ path, type })) ?? []);
  return useMemo(() => {
    if (!run || !timeline.data) return NOTHING;
    const nodes = JSON.parse(kinds) as { path: string; type: string }[]; // a key that is typed changes none of them
    return { run, states: nodeStates(timeline.data, isOver, nodes), definition };
  }, [run, timeline.data, isOver, kinds, definition]);
}

interface Start {
  path: string;
  /** The draft that is tried; undefined for what is in use. */
  draft: Writing | undefined;
  inputs: FormSchema;
  /** The one node that is carried out; empty for all. */
  only: string;
  /** What the node reads of others, as a beginning. */
  pins: Values;
  onBegun: (run: string) => void;
  onClose: () => void;
}

export function StartRun({ path, draft, inputs, only, pins, onBegun, onClose }: Start) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const [values, setValues] = useState<Values>({});
  const [pinned, setPinned] = useState(JSON.stringify(pins, null, 2));
  const begin = usePress({
    mutationFn: (body: object, key) => ask<Run>("POST", `${path}/${draft ? "try" : "run"}`, { body, once: key }),
    onSuccess: () => void known.invalidateQueries({ queryKey: ["runs"] }),
    then: (run) => {
      onBegun(run.id);
      onClose();
    },
  });
  function start() {
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    const alone = only ? { only, pins: read(pinned, {}) } : {};
    begin.mutate(draft ? { revision: draft.revision, inputs: given, ...alone } : { inputs: given });
  }
  const isReady = !draft || (draft.isSaved && draft.revision > 0);
  return (
    <Dialog title={only ? `${say("runNode")}: ${only}` : say("run")} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !begin.isPending) start();
        }}
      >
        <Form schema={inputs} values={values} onChange={setValues} />
        {only && (
          <label>
            {say("pins")}
            <textarea className="code" rows={5} value={pinned} onChange={(event) => setPinned(event.target.value)} />
          </label>
        )}
        <p className="hint">{say("runHint")}</p>
        {begin.isError && <Failure error={begin.error} />}
        <button type="submit" className="primary" aria-disabled={!isReady || begin.isPending}>
          {say("start")}
        </button>
      </form>
    </Dialog>
  );
}

/** The latest runs: each is shown on the definition with which it began. */
export function Runs({ name, shown, onShow }: { name: string; shown: string; onShow: (run: string) => void }) {
  const say = useText(TEXTS);
  const language = usePreferences((each) => each.language);
  const runs = useQuery({
    queryKey: ["runs", "of a workflow", name],
    queryFn: ({ signal }) => ask<Part<Run>>("GET", "/v1/runs", { signal, query: { agent: name, kind: "workflow", limit: 10 } }),
  });
  return (
    <section className="card" aria-label={say("runs")}>
      <h2>{say("runs")}</h2>
      {runs.isError && <Failure error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.data?.items.length === 0 && <p className="hint">{say("noRuns")}</p>}
      <ul className="lines">
        {runs.data?.items.map((each) => (
          <li key={each.id}>
            <button type="button" className="quiet" aria-pressed={each.id === shown} onClick={() => onShow(each.id === shown ? "" : each.id)}>
              {time(each.started, language)}
            </button>
            <StateText state={each.status} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What a run says, asks and gives. */
export function RunShown({ run }: { run: string }) {
  const say = useText(TEXTS);
  const followed = useRun(run);
  const waiting = useApprovalsOf(run);
  const told = turn(followed.entries);
  const details = useAnew({
    queryKey: ["run", run],
    queryFn: ({ signal }) => ask<RunDetails>("GET", `/v1/runs/${encodeURIComponent(run)}`, { signal }),
    news: told.isOver,
  });
  return (
    <section className="card" aria-label={say("run")} aria-live="polite">
      <h2>{say("run")}</h2>
      <p>
        {details.data && <StateText state={details.data.status} />} <Link to={`/runs/${run}` as string}>{say("openRun")}</Link>
      </p>
      <TurnView turn={told} approvals={waiting} />
      {details.data?.outputs && <Value value={details.data.outputs} />}
    </section>
  );
}
