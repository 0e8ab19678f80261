// One workflow: its outline, its canvas and the form of a node; run, published, and its versions.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useMemo, useRef, useState, type ClipboardEvent, type KeyboardEvent } from "react";
import { parse, stringify } from "yaml";

import { useBuilds } from "../../app";
import { ask, orNull } from "../../core/api";
import { chunk } from "../../core/chunk";
import { copied, type Flow, flowOf, moved, nameOf, parentOf, pasted, whyNotDrawn, withEdge, within, withoutEdge, withoutNodes, withPlaces } from "../../core/flow/document";
import { boxes, placeOf } from "../../core/flow/layout";
import { conflicts, merged } from "../../core/flow/merge";
import { placeOfLine, reportOf } from "../../core/flow/report";
import { isObject } from "../../core/flow/types";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { WorkflowDetails } from "../../core/types";
import { DraftState, InUse, Release, Shadowed, type Told, useChecked } from "../../parts/definition";
import { useDraft, type Writing } from "../../parts/draft";
import { Asked as Found, Failure } from "../../parts/failure";
import { useFilters } from "../../parts/filters";
import type { FormSchema } from "../../parts/form";
import { tell } from "../../parts/status";
import type { Asking } from "./asking";
import { Canvas, NEW_NODE } from "./canvas";
import { type Editing, useEditing } from "./editing";
import type { TextTarget } from "./fields";
import { NodeForm, type Wish } from "./node";
import { Outline } from "./outline";
import { TEXTS } from "./texts";
import { Runs, RunShown, type Shown, StartRun, useShown } from "./trial";

const MERGING = { merged, conflicts };
const Asked = lazy(() => chunk(() => import("./asking")));
const Source = lazy(() => chunk(() => import("./source")));

export default function WorkflowPage({ name }: { name: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const builds = useBuilds();
  const path = `/v1/workflows/${encodeURIComponent(name)}`;
  const workflow = useQuery({
    queryKey: ["workflow", name],
    queryFn: ({ signal }) => ask<WorkflowDetails>("GET", path, { signal }).catch(orNull),
  });
  const isOfSettings = workflow.data?.version === 0; // then there is no draft of this name
  const published = workflow.data?.definition ?? undefined;
  const fallback = useMemo(() => (published ? stringify(JSON.parse(published), { lineWidth: 0 }) : undefined), [published]);
  const draft = useDraft(path, builds && workflow.data !== undefined && !isOfSettings, fallback, MERGING);
  const isOwn = draft.text !== undefined;
  const inUse = workflow.data?.version ?? 0;
  return (
    <Found query={workflow}>
      {() => (
        <>
          <p>
            <Link to={"/workflows" as string}>{say("all")}</Link>
          </p>
          <h1>{told(name)}</h1>
          {workflow.data?.description && <p>{told(workflow.data.description)}</p>}
          {inUse > 0 && <InUse number={inUse} />}
          {isOfSettings && <p className="hint">{say("notOwn")}</p>}
          {isOfSettings && <Shadowed path={path} />}
          {draft.isPending && <p className="hint">{common("loading")}</p>}
          {!isOwn && !draft.isPending && (draft.error ? <Failure error={draft.error} /> : !workflow.data && <p>{common("gone")}</p>)}
          {isOwn && <Editor name={name} path={path} draft={draft} inUse={inUse} />}
          {!isOwn && workflow.data && !draft.isPending && <Looked name={name} path={path} workflow={workflow.data} />}
        </>
      )}
    </Found>
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
  const marked = chosen ? [chosen] : [];
  return (
    <div className="flow">
      <Outline flow={flow} states={shown.states} chosen={chosen} marked={marked} report={[]} onChoose={choose} onOpen={choose} onMark={choose} />
      <Canvas flow={flow} states={shown.states} chosen={chosen} marked={marked} report={[]} isReadOnly onMark={choose} onNew={nothing} onChoose={choose} onConnect={nothing} onAdd={nothing} onInsert={nothing} onDisconnect={nothing} onPlaces={nothing} onMove={nothing} onDelete={nothing} />
      {node && <NodeForm key={node.path} flow={flow} node={node} editing={undefined} state={shown.states.get(chosen)} report={[]} onRenamed={nothing} onInsert={nothing} onWish={nothing} />}
    </div>
  );
}

interface Edited {
  name: string;
  path: string;
  draft: Writing;
  inUse: number;
}

function Editor({ name, path, draft, inUse }: Edited) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const editing = useEditing(draft);
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
  const [line, setLine] = useState<{ line: number }>();
  const [only, setOnly] = useState("");
  const [filters, filter] = useFilters(["run"] as const);
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
  const [jump, open] = useJump(page, flow, choose, (to) => {
    setSource(true);
    setLine({ line: to });
  });
  const marks = useMarks(flow, chosen);
  const checked = useChecked(path, draft).data;
  const outputs = useMemo(() => new Map(checked?.nodes?.map((each) => [each.node, each.output])), [checked]);
  const report = useMemo(() => reportOf(editing.text), [editing.text]);
  const still = report.filter((each) => each.status === "open").map((each) => ({ ...each, place: placeOfLine(flow, each), message: say("stillOpen", { node: each.node, field: each.field, message: each.message }) }));
  const clipboard = useClipboard(editing, marks.all, chosen, choose);

  function press(event: KeyboardEvent): void {
    if (isField(event.target, FIELDS) || !(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) editing.undo();
    else if (key === "y" || key === "z") editing.redo();
    else return;
    event.preventDefault();
  }

  return (
    <div ref={page} onKeyDown={press} {...clipboard}>
      <Toolbar editing={editing} isSource={isSource} onSource={() => setSource(!isSource)} onAsk={ask_} chosen={chosen} />
      {isOther && (
        <p className="fresh">
          {say("shownRun", { run })}{" "}
          <button type="button" onClick={() => filter("run", "")}>
            {say("backToDraft")}
          </button>
        </p>
      )}
      {!flow && <p className="hint">{say(whyNotDrawn(editing.text) ?? "unread")}</p>}
      {(isSource || !flow) && (
        <Suspense fallback={<p className="hint">{common("loading")}</p>}>
          <Source label={say("definition")} help={say("sourceHint")} editing={editing} line={line} />
        </Suspense>
      )}
      {old && <Drawn flow={old} shown={shown} />}
      {flow && !old && (
        <div className="flow">
          <Outline flow={flow} states={shown.states} chosen={chosen} marked={marks.all} report={report} onChoose={choose} onOpen={open} onMark={marks.toggle} />
          <Canvas
            flow={flow}
            states={shown.states}
            chosen={chosen}
            marked={marks.all}
            report={report}
            isReadOnly={false}
            onMark={marks.toggle}
            onNew={(parent, at) => ask_({ what: "add", parent, ...(parent ? {} : { at }) })}
            onChoose={choose}
            onConnect={(from, target) => editing.change((text) => withEdge(text, parentOf(target), from, target))}
            onAdd={(from, at) => ask_({ what: "add", parent: parentOf(from.source), from, ...(parentOf(from.source) ? {} : { at }) })}
            onInsert={(edge) => ask_({ what: "add", parent: edge.parent, edge })}
            onDisconnect={(edge) => editing.change((text) => withoutEdge(text, edge))}
            onPlaces={(places) => editing.change((text) => withPlaces(text, places), `places ${[...places.keys()].join()}`)}
            onMove={(path, into, at) => {
              const there = within(into, nameOf(path));
              editing.change((text) => withPlaces(moved(text, path, into), new Map([[there, at]])));
              choose(there);
            }}
            onDelete={() => editing.change((text) => withoutNodes(text, marks.all))}
          />
          {node ? (
            <NodeForm
              key={form}
              flow={flow}
              node={node}
              editing={editing}
              state={shown.states.get(node.path)}
              report={report}
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
        <Release kind="workflows" name={name} path={path} draft={draft} inUse={inUse} more={still} onJump={jump}>
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
        <Suspense>
        <Asked
          asking={asking}
          flow={flow}
          editing={editing}
          path={path}
          draft={draft}
          states={all.states}
          outputs={outputs}
          onChoose={open}
          onBegun={(each, node) => {
            setOnly(node);
            filter("run", each);
          }}
          onClose={() => ask_(undefined)}
        />
        </Suspense>
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
        <button type="button" draggable onDragStart={(event) => event.dataTransfer.setData(NEW_NODE, "")} onClick={() => onAsk({ what: "add", parent: node?.parent ?? "" })}>
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

/** The nodes that are copied or taken away together: the chosen one, and those that were marked since it was chosen. */
function useMarks(flow: Flow | undefined, chosen: string) {
  const [more, setMore] = useState<{ chosen: string; paths: readonly string[] }>({ chosen: "", paths: [] });
  const paths = more.chosen === chosen ? more.paths : [];
  const all = useMemo(() => flow?.nodes.map((each) => each.path).filter((each) => each === chosen || paths.includes(each)) ?? [], [flow, chosen, paths.join("\n")]);
  const toggle = (path: string) => setMore({ chosen, paths: paths.includes(path) ? paths.filter((each) => each !== path) : [...paths, path] });
  return { all, toggle };
}

/** Copy, cut and paste of nodes, also as text for other places. In a field they are about its text. */
function useClipboard(editing: Editing, paths: readonly string[], chosen: string, choose: (path: string) => void) {
  const say = useText(TEXTS);
  const copy = (event: ClipboardEvent): boolean => {
    if (isField(event.target, TEXT_FIELDS) || !editing.flow || !paths.length || getSelection()?.toString()) return false;
    event.preventDefault();
    event.clipboardData.setData("text/plain", copied(editing.flow, paths));
    tell(say("copied", { names: paths.map((each) => told(nameOf(each))).join(", ") }));
    return true;
  };
  return {
    onCopy: copy,
    onCut: (event: ClipboardEvent) => {
      if (copy(event)) editing.change((text) => withoutNodes(text, paths));
    },
    onPaste: (event: ClipboardEvent) => {
      if (isField(event.target, TEXT_FIELDS) || !editing.flow) return;
      event.preventDefault();
      const parent = editing.flow.nodes.some((each) => each.path === chosen) ? parentOf(chosen) : "";
      const found = pasted(editing.text, parent, event.clipboardData.getData("text/plain"));
      if (!found) return tell(say("notPasted"));
      editing.change(() => found.text);
      choose(within(parent, found.names[0] ?? ""));
      tell(say("pasted", { names: found.names.map(told).join(", ") }));
    },
  };
}

const FIELDS = "input, textarea, select, dialog";
/** With the source, whose undo is that of the whole page. */
const TEXT_FIELDS = `${FIELDS}, .source`;

function isField(target: EventTarget, fields: string): boolean {
  return target instanceof HTMLElement && target.closest(fields) !== null;
}

/** The states of a run of one node, which stands at its own path on the canvas. */
function alone(shown: Shown, only: string): Shown {
  const found = shown.states.get(nameOf(only)) ?? shown.states.get(`pinned/${nameOf(only)}`);
  return { ...shown, states: new Map(found && found.passes ? [[only, found]] : []) };
}

/** Whether a text means what a run began with: positions and comments do not count. */
function isSameDefinition(definition: string, text: string): boolean {
  try {
    const value: unknown = parse(text, { maxAliasCount: 0 });
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
  const jump = ({ place, line }: Told) => {
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
