// The canvas: the nodes as boxes, drawn and dragged. What it does, the outline and the form do with keys.
import "@xyflow/react/dist/base.css";

import {
  applyNodeChanges,
  Background,
  BaseEdge,
  EdgeLabelRenderer,
  getBezierPath,
  Handle,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useUpdateNodeInternals,
  type Edge,
  type EdgeProps,
  type Node,
  type NodeProps,
} from "@xyflow/react";
import { memo, useEffect, useMemo, useRef, useState, type DragEvent, type KeyboardEvent } from "react";

import { isIn, type Flow, type FlowEdge, type From, type Place } from "../../core/flow/document";
import { legalContainers, legalTargets } from "../../core/flow/graph";
import { boxes, placeOf } from "../../core/flow/layout";
import type { KeptLine } from "../../core/flow/report";
import type { NodeState } from "../../core/flow/states";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import { StateText } from "../../parts/values";
import { TEXTS } from "./texts";

interface Given {
  flow: Flow;
  states: ReadonlyMap<string, NodeState>;
  chosen: string;
  /** Those that are chosen together with it, too. */
  marked: readonly string[];
  report: readonly KeptLine[];
  isReadOnly: boolean;
  onChoose: (path: string) => void;
  onMark: (path: string) => void;
  /** A new node was dropped, into this container. */
  onNew: (parent: string, at: Place) => void;
  onConnect: (from: From, target: string) => void;
  /** An edge was dropped on nothing. */
  onAdd: (from: From, at: Place) => void;
  onInsert: (edge: FlowEdge) => void;
  onDisconnect: (edge: FlowEdge) => void;
  onPlaces: (places: ReadonlyMap<string, Place>) => void;
  /** A node was dragged into a container, or out of all for an empty path. */
  onMove: (path: string, into: string, at: Place) => void;
  /** Takes the marked nodes away. */
  onDelete: () => void;
}

type Drawn = Node<
  { name: string; title: string; type: string; note: string; ports: string[]; state: NodeState | undefined; isContainer: boolean; isTarget: boolean; open: number },
  "step"
>;
type Joined = Edge<{ edge: FlowEdge; label: string; onInsert?: (() => void) | undefined; onDisconnect?: (() => void) | undefined }, "joined">;

/** What a drag of a new node holds. */
export const NEW_NODE = "application/x-actum-node";

const NODES = { step: memo(Step) };
const EDGES = { joined: memo(Join) };
/** What the library would say of keys that are not its own here. */
const SILENT = {
  "node.a11yDescription.default": "",
  "node.a11yDescription.keyboardDisabled": "",
  "edge.a11yDescription.default": "",
  "handle.ariaLabel": "",
};
const STEP = 24;
const FIT = { maxZoom: 1, padding: 0.1 };

export function Canvas(given: Given) {
  return (
    <ReactFlowProvider>
      <Drawing {...given} />
    </ReactFlowProvider>
  );
}

function Drawing(given: Given) {
  const { flow, chosen, isReadOnly } = given;
  const say = useText(TEXTS);
  const view = useReactFlow<Drawn, Joined>();
  const [from, setFrom] = useState<From>();
  const [edge, setEdge] = useState("");
  const targets = useMemo(() => new Set(from ? legalTargets(flow, from.source, from.port).map((each) => each.path) : []), [flow, from]);
  const made = useNodes(given, targets);
  const [nodes, setNodes] = useState(made);
  useEffect(() => setNodes((before) => merged(before, made)), [made]);
  const shown = useEdges(given, edge);
  const region = useRef<HTMLDivElement>(null);
  const hasMoved = useRef(false);
  useEffect(() => {
    if (!region.current) return;
    const watch = new ResizeObserver(() => hasMoved.current || void view.fitView(FIT));
    watch.observe(region.current);
    return () => watch.disconnect();
  }, [view]);

  function press(event: KeyboardEvent): void {
    if (event.target !== region.current) return;
    const [x, y] = ARROWS[event.key] ?? [0, 0];
    const node = nodes.find((each) => each.id === chosen);
    if (x || y) {
      event.preventDefault();
      if (event.shiftKey && node && !isReadOnly) {
        const parent = node.parentId ?? "";
        given.onPlaces(new Map([[node.id, placeOf(parent, node.position.x + x * STEP, node.position.y + y * STEP)]]));
      } else {
        const now = view.getViewport();
        void view.setViewport({ ...now, x: now.x - x * 2 * STEP, y: now.y - y * 2 * STEP });
      }
    } else if (event.key === "+" || event.key === "=") void view.zoomIn();
    else if (event.key === "-") void view.zoomOut();
    else if (event.key === "0") void view.fitView(FIT);
    else if ((event.key === "Delete" || event.key === "Backspace") && !isReadOnly) {
      const found = flow.edges.find((each) => keyOf(each) === edge);
      if (found) given.onDisconnect(found);
      else if (chosen) given.onDelete();
    }
  }

  /** The innermost container under the pointer; `except` a node, and what is inside of it. */
  function containerAt({ clientX, clientY }: { clientX: number; clientY: number }, except?: string): string {
    const at = view.screenToFlowPosition({ x: clientX, y: clientY });
    const under = view.getIntersectingNodes({ ...at, width: 1, height: 1 }).map((each) => (each.data.isContainer ? each.id : ""));
    return under.filter((each) => except === undefined || !isIn(each, except)).sort((one, other) => other.length - one.length)[0] ?? "";
  }

  /** A dragged node goes into the container under the pointer. It leaves its own where they no longer touch: until then its own grows. */
  function place(event: MouseEvent | TouchEvent, node: Drawn): void {
    const [parent, at] = [node.parentId ?? "", view.getNodesBounds([node.id])];
    const into = containerAt(pointer(event), node.id);
    const isHeld = parent !== "" && !isIn(into, parent) && view.isNodeIntersecting(at, view.getNodesBounds([parent]));
    if (isHeld || !legalContainers(flow, node.id).includes(into)) {
      given.onPlaces(new Map([[node.id, placeOf(parent, node.position.x, node.position.y)]]));
    } else {
      const around = into ? view.getNodesBounds([into]) : { x: 0, y: 0 };
      given.onMove(node.id, into, placeOf(into, at.x - around.x, at.y - around.y));
    }
  }

  const isNew = (event: DragEvent) => !isReadOnly && event.dataTransfer.types.includes(NEW_NODE);
  function drop(event: DragEvent): void {
    if (!isNew(event)) return;
    event.preventDefault();
    const { x, y } = view.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    given.onNew(containerAt(event), [x, y]);
  }

  return (
    <div ref={region} role="region" aria-label={say("canvas")} aria-description={say("canvasKeys")} tabIndex={0} className="canvas" onKeyDown={press} onDragOver={(event) => isNew(event) && event.preventDefault()} onDrop={drop}>
      <ReactFlow<Drawn, Joined>
        nodes={nodes}
        edges={shown}
        nodeTypes={NODES}
        edgeTypes={EDGES}
        colorMode="system"
        fitView
        fitViewOptions={FIT}
        onMoveStart={(event) => {
          if (event) hasMoved.current = true;
        }}
        minZoom={0.1}
        maxZoom={2}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={SILENT}
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        nodesDraggable={!isReadOnly}
        nodesConnectable={!isReadOnly}
        zoomOnDoubleClick={false}
        onNodesChange={(changes) => setNodes((before) => applyNodeChanges(changes, before))}
        onNodeClick={(event, node) => {
          setEdge("");
          if (event.ctrlKey || event.metaKey || event.shiftKey) given.onMark(node.id);
          else given.onChoose(node.id);
          region.current?.focus({ preventScroll: true });
        }}
        onEdgeClick={(_, each) => setEdge(each.id === edge ? "" : each.id)}
        onPaneClick={() => setEdge("")}
        onConnectStart={(_, start) => setFrom(start.nodeId ? { source: start.nodeId, port: start.handleId ?? "out" } : undefined)}
        onConnectEnd={(event, end) => {
          setFrom(undefined);
          if (end.isValid || end.toNode || !end.fromNode || end.fromHandle?.type !== "source") return;
          const { clientX, clientY } = pointer(event);
          const at = view.screenToFlowPosition({ x: clientX, y: clientY });
          given.onAdd({ source: end.fromNode.id, port: end.fromHandle.id ?? "out" }, [at.x, at.y]);
        }}
        isValidConnection={(each) => targets.has(each.target)}
        onConnect={(each) => given.onConnect({ source: each.source, port: each.sourceHandle ?? "out" }, each.target)}
        onNodeDragStop={place}
      >
        <Background gap={STEP} />
      </ReactFlow>
    </div>
  );
}

function pointer(event: MouseEvent | TouchEvent): { clientX: number; clientY: number } {
  return "changedTouches" in event ? (event.changedTouches[0] ?? { clientX: 0, clientY: 0 }) : event;
}

const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function useNodes({ flow, states, chosen, marked, report, isReadOnly }: Given, targets: ReadonlySet<string>): Drawn[] {
  const places = useMemo(() => boxes(flow), [flow]);
  return useMemo(
    () =>
      flow.nodes.map((each) => {
        const box = places.get(each.path) ?? { x: 0, y: 0, width: 0, height: 0 };
        return {
          id: each.path,
          type: "step",
          position: { x: box.x, y: box.y },
          width: box.width,
          height: box.height,
          ...(each.parent ? { parentId: each.parent } : {}),
          selected: each.path === chosen || marked.includes(each.path),
          draggable: !isReadOnly,
          data: {
            name: each.name,
            title: typeof each.value["title"] === "string" ? each.value["title"] : "",
            type: each.type,
            note: each.type === "note" && typeof each.value["text"] === "string" ? each.value["text"] : "",
            ports: each.ports,
            state: states.get(each.path),
            isContainer: each.isContainer,
            isTarget: targets.has(each.path),
            open: report.filter((line) => line.status === "open" && line.node === each.name).length,
          },
        };
      }),
    [flow, places, states, chosen, marked, report, targets, isReadOnly],
  );
}

/** The new nodes; those that did not change are the same objects, so that they are not drawn again. */
function merged(before: readonly Drawn[], made: readonly Drawn[]): Drawn[] {
  const known = new Map(before.map((each) => [each.id, each]));
  return made.map((each) => {
    const old = known.get(each.id);
    if (!old) return each;
    const { measured } = old;
    const next = measured && old.width === each.width && old.height === each.height ? { ...each, measured } : each;
    return isSame(old, next) ? old : next;
  });
}

function isSame(one: Drawn, other: Drawn): boolean {
  return (
    one.position.x === other.position.x &&
    one.position.y === other.position.y &&
    one.width === other.width &&
    one.height === other.height &&
    one.parentId === other.parentId &&
    one.selected === other.selected &&
    one.draggable === other.draggable &&
    JSON.stringify(one.data) === JSON.stringify(other.data)
  );
}

function keyOf(edge: FlowEdge): string {
  return `${edge.source} ${edge.port} ${edge.target}`;
}

function useEdges({ flow, isReadOnly, onInsert, onDisconnect }: Given, chosen: string): Joined[] {
  const act = useRef({ onInsert, onDisconnect });
  useEffect(() => {
    act.current = { onInsert, onDisconnect };
  });
  return useMemo(() => {
    const ports = new Map(flow.nodes.map((each) => [each.path, each.ports]));
    return flow.edges.map((edge) => ({
      id: keyOf(edge),
      type: "joined",
      source: edge.source,
      sourceHandle: edge.port,
      target: edge.target,
      selected: keyOf(edge) === chosen,
      zIndex: 2,
      data: {
        edge,
        label: (ports.get(edge.source)?.length ?? 0) > 1 ? edge.port : "",
        onInsert: isReadOnly ? undefined : () => act.current.onInsert(edge),
        onDisconnect: isReadOnly ? undefined : () => act.current.onDisconnect(edge),
      },
    }));
  }, [flow, isReadOnly, chosen]);
}

function Step({ id, data, selected }: NodeProps<Drawn>) {
  const say = useText(TEXTS);
  const update = useUpdateNodeInternals();
  const ports = data.ports.join("\n");
  useEffect(() => update(id), [id, ports, update]);
  if (data.type === "note") {
    return (
      <div className="step" data-type="note" data-chosen={selected}>
        {told(data.note || data.title || data.name)}
      </div>
    );
  }
  return (
    <div className="step" data-type={data.type} data-chosen={selected} data-container={data.isContainer} data-target={data.isTarget} data-state={data.state?.state}>
      <Handle type="target" position={Position.Left} />
      <div className="step-head">
        <span className="step-name">{brief(data.title || data.name, 40)}</span>
        {data.open > 0 && <span className="warning">{say("openCount", { count: data.open })}</span>}
        {data.state && <StateText state={data.state.state} />}
      </div>
      <span className="step-type">{data.title ? `${told(data.name)} · ${told(data.type)}` : told(data.type)}</span>
      {data.ports.map((port, place) => (
        <Handle key={port} id={port} type="source" position={Position.Right} style={{ top: `${((place + 1) / (data.ports.length + 1)) * 100}%` }} />
      ))}
    </div>
  );
}

function Join({ data, selected, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition }: EdgeProps<Joined>) {
  const say = useText(TEXTS);
  const [path, x, y] = getBezierPath({ sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition });
  const { label, onInsert, onDisconnect } = data ?? {};
  const hasButtons = selected && onInsert;
  return (
    <>
      <BaseEdge path={path} />
      {(label || hasButtons) && ( // not for all edges: each one looks through the whole canvas for its place at every step of a pan
        <EdgeLabelRenderer>
          <div className="join" style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}>
            {label && <span>{brief(label, 24)}</span>}
            {hasButtons && (
              <>
                <button type="button" tabIndex={-1} onClick={onInsert}>
                  {say("insertOn")}
                </button>
                <button type="button" tabIndex={-1} onClick={onDisconnect}>
                  {say("disconnect")}
                </button>
              </>
            )}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}
