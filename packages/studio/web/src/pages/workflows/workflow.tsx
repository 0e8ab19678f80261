// One workflow: its outline, its canvas and the form of a node; run, published, and its versions.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { parse, stringify } from "yaml";

import { useAdministers } from "../../app";
import { ask, orNull } from "../../core/api";
import { type Flow, type FlowEdge, flowOf, type From, freeName, moved, nameOf, parentOf, type Place, withEdge, within, withNode, withNodeOn, withoutEdge, withoutNodes, withPlaces } from "../../core/flow/document";
import { legalContainers, legalTargets, values } from "../../core/flow/graph";
import { boxes, placeOf } from "../../core/flow/layout";
import { merged } from "../../core/flow/merge";
import { isObject, newNode } from "../../core/flow/types";
import { useText } from "../../core/language";
import { cut, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { DefinitionProblem, WorkflowDetails } from "../../core/types";
import { DraftState, InUse, Release, showLine, Source } from "../../parts/definition";
import { useDraft, type Writing } from "../../parts/draft";
import { Failure } from "../../parts/failure";
import { useFilters } from "../../parts/filters";
import type { FormSchema, Values } from "../../parts/form";
import { Canvas } from "./canvas";
import { AddNode, Choose } from "./dialogs";
import { type Editing, useEditing } from "./editing";
import type { TextTarget } from "./fields";
import { NodeForm, type Wish } from "./node";
import { Outline } from "./outline";
import { TEXTS } from "./texts";
import { Runs, RunShown, type Shown, StartRun, useShown } from "./trial";

export default function WorkflowPage({ name }: { name: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const builds = useAdministers();
  const path = `/v1/workflows/${encodeURIComponent(name)}`;
  const workflow = useQuery({
    queryKey: ["workflow", name],
    queryFn: ({ signal }) => ask<WorkflowDetails>("GET", path, { signal }).catch(orNull),
  });
  const isOfSettings = workflow.data?.version === 0; // then there is no draft of this name
  const published = workflow.data?.definition ?? undefined;
  const fallback = useMemo(() => (published ? stringify(JSON.parse(published), { lineWidth: 0 }) : undefined), [published]);
  const draft = useDraft(path, builds && workflow.isSuccess && !isOfSettings, fallback, merged);
  const isOwn = draft.text !== undefined;
  if (workflow.isPending) return <p className="hint">{common("loading")}</p>;
  if (workflow.isError) return <Failure error={workflow.error} onRetry={() => void workflow.refetch()} />;
  const inUse = workflow.data?.version ?? 0;
  return (
    <>
      <p>
        <Link to={"/workflows" as string}>{say("all")}</Link>
      </p>
      <h1>{told(name)}</h1>
      {workflow.data?.description && <p>{told(workflow.data.description)}</p>}
      {inUse > 0 && <InUse number={inUse} />}
      {isOfSettings && <p className="hint">{say("notOwn")}</p>}
      {draft.isPending && <p className="hint">{common("loading")}</p>}
      {!workflow.data && !isOwn && !draft.isPending && (draft.error ? <Failure error={draft.error} /> : <p>{common("gone")}</p>)}
      {isOwn && <Editor name={name} path={path} draft={draft} inUse={inUse} />}
      {!isOwn && workflow.data && !draft.isPending && <Looked name={name} path={path} workflow={workflow.data} />}
    </>
  );
}

/** A workflow that this person may run, and not change. */
function Looked({ name, path, workflow }: { name: string; path: string; workflow: WorkflowDetails }) {
  const say = useText(TEXTS);
  const [isAsking, setAsking] = useState(false);
  const [filters, filter] = useFilters(["run"] as const);
  const run = filters.run ?? "";
  const shown = useShown(run, undefined);
  const text = shown.definition ?? workflow.definition;
  const flow = useMemo(() => (text ? flowOf(text) : undefined), [text]);
  return (
    <>
      <div className="buttons">
        <button type="button" className="primary" onClick={() => setAsking(true)}>
          {say("run")}
        </button>
      </div>
      {flow && <Drawn flow={flow} shown={shown} />}
      {run && <RunShown run={run} />}
      <Runs name={name} shown={run} onShow={(each) => filter("run", each)} />
      {isAsking && (
        <StartRun path={path} draft={undefined} inputs={workflow.inputs as FormSchema} only="" pins={{}} onBegun={(each) => filter("run", each)} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

/** A definition as it was, which is looked at alone. */
function Drawn({ flow, shown }: { flow: Flow; shown: Shown }) {
  const [chosen, choose] = useState("");
  const node = flow.nodes.find((each) => each.path === chosen);
  const nothing = () => undefined;
  return (
    <div className="flow">
      <Outline flow={flow} states={shown.states} chosen={chosen} onChoose={choose} onOpen={choose} />
      <Canvas flow={flow} states={shown.states} chosen={chosen} isReadOnly onChoose={choose} onConnect={nothing} onAdd={nothing} onInsert={nothing} onDisconnect={nothing} onPlaces={nothing} onDelete={nothing} />
      {node && <NodeForm key={node.path} flow={flow} node={node} editing={undefined} state={shown.states.get(chosen)} onRenamed={nothing} onInsert={nothing} onWish={nothing} />}
    </div>
  );
}

type Asking =
  | { what: "add"; parent: string; from?: From; at?: Place; edge?: FlowEdge }
  | { what: "connect" | "move"; path: string }
  | { what: "value"; path: string; target: TextTarget }
  | { what: "run"; only: string };

interface Edited {
  name: string;
  path: string;
  draft: Writing;
  inUse: number;
}

function Editor({ name, path, draft: written, inUse }: Edited) {
  const say = useText(TEXTS);
  const editing = useEditing(written);
  const draft = editing.isTyping ? { ...written, isSaved: false } : written;
  const { flow } = editing;
  const [chosen, setChosen] = useState("");
  const [form, setForm] = useState(0);
  const choose = (path: string) => {
    if (path === chosen) return;
    setChosen(path);
    setForm(form + 1); // a form of its own for each node, and the same one for a node with a new name: the focus stays
  };
  const [asking, ask_] = useState<Asking>();
  const [isSource, setSource] = useState(false);
  const [only, setOnly] = useState("");
  const [filters, filter] = useFilters(["run"] as const);
  const source = useRef<HTMLTextAreaElement>(null);
  const page = useRef<HTMLDivElement>(null);
  const run = filters.run ?? "";
  const all = useShown(run, flow);
  const shown = useMemo(() => (only ? alone(all, only) : all), [all, only]);
  const differs = useMemo(() => !only && shown.definition !== null && !isSameDefinition(shown.definition, editing.text), [only, shown.definition, editing.text]);
  const [kept, keep] = useState("");
  useEffect(() => {
    if (!run || (shown.definition !== null && !differs)) keep(run); // it began with this text: edits do not take the draft away
  }, [run, shown.definition, differs]);
  const isOther = differs && kept !== run;
  const old = useMemo(() => (isOther && shown.definition ? flowOf(shown.definition) : undefined), [isOther, shown.definition]);
  const node = flow?.nodes.find((each) => each.path === chosen);
  const [jump, open] = useJump(page, flow, choose, (line) => {
    setSource(true);
    requestAnimationFrame(() => showLine(source.current, line));
  });

  function press(event: KeyboardEvent): void {
    const isTyped = event.target instanceof HTMLElement && event.target.closest("input, textarea, select") !== null;
    if (isTyped || !(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) editing.undo();
    else if (key === "y" || key === "z") editing.redo();
    else return;
    event.preventDefault();
  }

  return (
    <div ref={page} onKeyDown={press}>
      <Toolbar editing={editing} isSource={isSource} onSource={() => setSource(!isSource)} onAsk={ask_} chosen={chosen} />
      {isOther && (
        <p className="fresh">
          {say("shownRun", { run })}{" "}
          <button type="button" onClick={() => filter("run", "")}>
            {say("backToDraft")}
          </button>
        </p>
      )}
      {!flow && <p className="hint">{say("onlySource")}</p>}
      {(isSource || !flow) && <Source ref={source} label={say("definition")} draft={draft} />}
      {old && <Drawn flow={old} shown={shown} />}
      {flow && !old && (
        <div className="flow">
          <Outline flow={flow} states={shown.states} chosen={chosen} onChoose={choose} onOpen={open} />
          <Canvas
            flow={flow}
            states={shown.states}
            chosen={chosen}
            isReadOnly={false}
            onChoose={choose}
            onConnect={(from, target) => editing.change((text) => withEdge(text, parentOf(target), from, target))}
            onAdd={(from, at) => ask_({ what: "add", parent: parentOf(from.source), from, ...(parentOf(from.source) ? {} : { at }) })}
            onInsert={(edge) => ask_({ what: "add", parent: edge.parent, edge })}
            onDisconnect={(edge) => editing.change((text) => withoutEdge(text, edge))}
            onPlaces={(places) => editing.change((text) => withPlaces(text, places), `places ${[...places.keys()].join()}`)}
            onDelete={(each) => editing.change((text) => withoutNodes(text, [each]))}
          />
          {node ? (
            <NodeForm
              key={form}
              flow={flow}
              node={node}
              editing={editing}
              state={shown.states.get(node.path)}
              onRenamed={setChosen}
              onInsert={(edge) => ask_({ what: "add", parent: edge.parent, edge })}
              onWish={(wish, target) => wished(wish, node.path, editing, ask_, choose, target)}
            />
          ) : (
            <aside className="card node-form">
              <p className="hint">{say("noChoice")}</p>
              <p className="hint">{say("canvasHint")}</p>
            </aside>
          )}
        </div>
      )}
      <section className="card">
        <DraftState draft={draft} />
        <Release kind="workflows" name={name} path={path} draft={draft} inUse={inUse} onJump={jump}>
          <Export name={name} text={editing.text} />
        </Release>
      </section>
      {run && <RunShown run={run} />}
      <Runs
        name={name}
        shown={run}
        onShow={(each) => {
          setOnly("");
          filter("run", each);
        }}
      />
      {asking && flow && (
        <Asked
          asking={asking}
          flow={flow}
          editing={editing}
          path={path}
          draft={draft}
          states={all.states}
          onChoose={open}
          onBegun={(each, node) => {
            setOnly(node);
            filter("run", each);
          }}
          onClose={() => ask_(undefined)}
        />
      )}
    </div>
  );
}

/** What a button of a node's form begins. */
function wished(wish: Wish, path: string, editing: Editing, ask_: (asking: Asking) => void, choose: (path: string) => void, target?: TextTarget): void {
  const node = editing.flow?.nodes.find((each) => each.path === path);
  if (!node) return;
  if (wish === "connect" || wish === "move") ask_({ what: wish, path });
  else if (wish === "after") ask_({ what: "add", parent: node.parent, from: { source: path, port: node.ports[0] ?? "out" } });
  else if (wish === "inside") ask_({ what: "add", parent: path });
  else if (wish === "run") ask_({ what: "run", only: path });
  else if (wish === "value") ask_({ what: "value", path, target: target ?? { insert: () => undefined } });
  else {
    editing.change((text) => withoutNodes(text, [path]));
    choose(node.parent);
  }
}

interface Tools {
  editing: Editing;
  chosen: string;
  isSource: boolean;
  onSource: () => void;
  onAsk: (asking: Asking) => void;
}

function Toolbar({ editing, chosen, isSource, onSource, onAsk }: Tools) {
  const say = useText(TEXTS);
  const { flow } = editing;
  const tidy = () =>
    editing.change((text) => {
      const found = flowOf(text);
      return found ? withPlaces(text, new Map([...boxes(found, true)].map(([path, box]) => [path, placeOf(parentOf(path), box.x, box.y)]))) : text;
    });
  const node = flow?.nodes.find((each) => each.path === chosen);
  return (
    <div className="buttons tools-of-flow">
      {flow && (
        <button type="button" onClick={() => onAsk({ what: "add", parent: node?.parent ?? "" })}>
          {say("addNode")}
        </button>
      )}
      <button type="button" aria-disabled={!editing.canUndo} onClick={editing.undo}>
        {say("undo")}
      </button>
      <button type="button" aria-disabled={!editing.canRedo} onClick={editing.redo}>
        {say("redo")}
      </button>
      {flow && (
        <button type="button" onClick={tidy}>
          {say("tidy")}
        </button>
      )}
      <button type="button" aria-pressed={isSource} onClick={onSource}>
        {say("source")}
      </button>
      <button type="button" className="primary" onClick={() => onAsk({ what: "run", only: "" })}>
        {say("run")}
      </button>
    </div>
  );
}

interface AskedOf {
  asking: Asking;
  flow: Flow;
  editing: Editing;
  path: string;
  draft: Writing;
  states: Shown["states"];
  onChoose: (path: string) => void;
  onBegun: (run: string, only: string) => void;
  onClose: () => void;
}

/** The dialog that is open. */
function Asked({ asking, flow, editing, path, draft, states, onChoose, onBegun, onClose }: AskedOf) {
  const say = useText(TEXTS);
  if (asking.what === "run") {
    const { only } = asking;
    const given = only ? { ...flow.inputs, required: [] } : flow.inputs;
    return (
      <StartRun path={path} draft={draft} inputs={given as FormSchema} only={only} pins={only ? pinsFor(flow, only, states) : {}} onBegun={(run) => onBegun(run, only)} onClose={onClose} />
    );
  }
  if (asking.what === "add") {
    const add = (type: string) => {
      const name = freeName(flow, type);
      const { parent, edge, from, at } = asking;
      editing.change((text) => (edge ? withNodeOn(text, edge, name, newNode(type)) : withNode(text, parent, name, newNode(type), { ...(from ? { from } : {}), ...(at ? { at } : {}) })));
      onChoose(within(parent, name));
      onClose();
    };
    return <AddNode isInside={asking.parent !== ""} onChoose={add} onClose={onClose} />;
  }
  if (asking.what === "value") {
    const options = values(flow, asking.path).map((value) => ({ value, label: value, note: lastValue(value, flow, states) }));
    return (
      <Choose
        title={say("insertValue")}
        search={say("insertValue")}
        none={say("noValues")}
        options={options}
        onChoose={(value) => {
          onClose();
          requestAnimationFrame(() => asking.target.insert(`\${${value}}`));
        }}
        onClose={onClose}
      />
    );
  }
  const node = flow.nodes.find((each) => each.path === asking.path);
  if (!node) return null;
  if (asking.what === "move") {
    const move = (into: string) => {
      editing.change((text) => moved(text, node.path, into));
      onChoose(within(into, node.name));
      onClose();
    };
    const options = legalContainers(flow, node.path).map((each) => ({ value: each, label: each || say("outside") }));
    return <Choose title={say("moveInto")} search={say("searchNodes")} none={say("noContainers")} options={options} onChoose={move} onClose={onClose} />;
  }
  const options = node.ports.flatMap((port) =>
    legalTargets(flow, node.path, port).map((each) => ({
      value: JSON.stringify([port, each.path]),
      label: node.ports.length > 1 ? say("toPort", { port, name: each.name }) : each.name,
    })),
  );
  return (
    <Choose
      title={say("connect")}
      search={say("searchNodes")}
      none={say("noTargets")}
      options={options}
      onChoose={(value) => {
        const [port, target] = JSON.parse(value) as [string, string];
        editing.change((text) => withEdge(text, node.parent, { source: node.path, port }, target));
        onClose();
      }}
      onClose={onClose}
    />
  );
}

/** The states of a run of one node, which stands at its own path on the canvas. */
function alone(shown: Shown, only: string): Shown {
  const found = shown.states.get(nameOf(only)) ?? shown.states.get(`pinned/${nameOf(only)}`);
  return { ...shown, states: new Map(found && found.passes ? [[only, found]] : []) };
}

/** What a value was in the run that is shown. */
function lastValue(value: string, flow: Flow, states: Shown["states"]): string {
  const [name, field] = value.split(".");
  const node = flow.nodes.find((each) => each.name === name);
  const came = node ? states.get(node.path)?.came : undefined;
  const found = isObject(came) && field && Object.hasOwn(came, field) ? came[field] : field === "output" ? came : undefined;
  return found === undefined || found === null ? "" : cut(told(found), 80).text;
}

/** The beginning of the pins: what the nodes before gave in the run that is shown, and null where they gave nothing. */
function pinsFor(flow: Flow, path: string, states: Shown["states"]): Values {
  const spoken = JSON.stringify(flow.nodes.find((each) => each.path === path)?.value ?? {});
  const found = new Map<string, Map<string, unknown>>();
  for (const value of values(flow, path)) {
    const [name = "", field = ""] = value.split(".");
    if (name === "inputs" || !new RegExp(`\\b${name}\\b`).test(spoken) || (field && !spoken.includes(value))) continue;
    const node = flow.nodes.find((each) => each.name === name);
    const came = node ? states.get(node.path)?.came : null;
    const known = isObject(came) && Object.hasOwn(came, field) ? came[field] : came;
    found.set(name, (found.get(name) ?? new Map<string, unknown>()).set(field, known ?? null));
  }
  return Object.fromEntries([...found].map(([name, fields]) => [name, fields.has("") ? fields.get("") : Object.fromEntries(fields)]));
}

/** Whether a text means what a run began with: positions and comments do not count. */
function isSameDefinition(definition: string, text: string): boolean {
  try {
    const value: unknown = parse(text, { maxAliasCount: 100 });
    if (!isObject(value)) return false;
    const { view: _, ...rest } = value;
    return JSON.stringify(rest) === JSON.stringify(JSON.parse(definition));
  } catch {
    return false;
  }
}

/** Goes to where a problem is: the field of a node, or the line of the text. And to the form of a node. */
function useJump(page: { current: HTMLElement | null }, flow: Flow | undefined, choose: (path: string) => void, toLine: (line: number) => void) {
  const [wanted, want] = useState<{ path: string; field: string }>();
  useEffect(() => {
    if (!wanted) return;
    const form = page.current?.querySelector(".node-form");
    const field = form?.querySelector<HTMLElement>(`[data-field="${CSS.escape(wanted.field)}"]`) ?? form?.querySelector<HTMLElement>("[data-field]");
    field?.focus();
    want(undefined);
  }, [wanted, page]);
  const open = (path: string, field = "name") => {
    choose(path);
    want({ path, field });
  };
  const jump = ({ place, line }: DefinitionProblem) => {
    const parts = place.split(".");
    const names: string[] = [];
    while (parts[0] === "nodes" && parts[1] !== undefined) names.push(...parts.splice(0, 2).slice(1));
    const path = names.join("/");
    if (!flow?.nodes.some((each) => each.path === path)) return toLine(line);
    open(path, (parts[0] === "with" ? (parts[1] ?? "with") : parts[0]) ?? "");
  };
  return [jump, open] as const;
}

function Export({ name, text }: { name: string; text: string }) {
  const say = useText(TEXTS);
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
    link.download = `${name}.workflow.yaml`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return (
    <button type="button" className="quiet" onClick={save}>
      {say("export")}
    </button>
  );
}
