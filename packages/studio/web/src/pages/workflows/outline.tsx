// The outline: each node once, under its container, with how it stands in the run that is shown. The arrow keys move.
import { Composite, CompositeItem, CompositeProvider } from "@ariakit/react";

import type { Flow, FlowNode } from "../../core/flow/document";
import type { KeptLine } from "../../core/flow/report";
import type { NodeState } from "../../core/flow/states";
import { useText } from "../../core/language";
import { brief, span, told } from "../../core/shown";
import { COMMON, stateKey } from "../../core/texts";
import { TEXTS } from "./texts";

interface Given {
  flow: Flow;
  states: ReadonlyMap<string, NodeState>;
  chosen: string;
  /** Those that are chosen together with it, too. */
  marked: readonly string[];
  report: readonly KeptLine[];
  onChoose: (path: string) => void;
  /** The node is to be worked on: its form gets the focus. */
  onOpen: (path: string) => void;
  onMark: (path: string) => void;
}

export function Outline({ flow, states, chosen, marked, report, onChoose, onOpen, onMark }: Given) {
  const say = useText(TEXTS);
  const levels = new Map<string, number>();
  return (
    <section className="outline">
      <h2>{say("outline")}</h2>
      {flow.nodes.length === 0 && <p className="hint">{say("noNodes")}</p>}
      <CompositeProvider orientation="vertical" activeId={chosen ? idOf(chosen) : null} setActiveId={(id) => id && onChoose(pathOf(id))}>
        <Composite role="tree" aria-label={say("outline")} aria-description={say("outlineKeys")} aria-multiselectable className="tree">
          {flow.nodes.map((node) => {
            const level = (levels.get(node.parent) ?? 0) + 1;
            levels.set(node.path, level);
            return <Item key={node.path} node={node} level={level} state={states.get(node.path)} isChosen={node.path === chosen || marked.includes(node.path)} open={report.filter((each) => each.status === "open" && each.node === node.name).length} onOpen={onOpen} onMark={onMark} />;
          })}
        </Composite>
      </CompositeProvider>
    </section>
  );
}

const BEFORE = "outline:";

function idOf(path: string): string {
  return BEFORE + path;
}

function pathOf(id: string): string {
  return id.slice(BEFORE.length);
}

interface Line {
  node: FlowNode;
  level: number;
  state: NodeState | undefined;
  isChosen: boolean;
  /** How many things of an import are still open here. */
  open: number;
  onOpen: (path: string) => void;
  onMark: (path: string) => void;
}

function Item({ node, level, state, isChosen, open, onOpen, onMark }: Line) {
  const say = useText(TEXTS);
  const words = useStateWords();
  const title = typeof node.value["title"] === "string" ? brief(node.value["title"], 60) : "";
  const said = [told(node.name), told(node.type), title, open ? say("openCount", { count: open }) : "", state ? words(state) : ""].filter(Boolean).join(", ");
  return (
    <CompositeItem
      id={idOf(node.path)}
      render={<div />}
      role="treeitem"
      aria-label={said}
      aria-level={level}
      aria-selected={isChosen}
      aria-expanded={node.isContainer ? true : undefined}
      data-level={level}
      onClickCapture={(event) => {
        if (!(event.ctrlKey || event.metaKey || event.shiftKey)) return;
        event.stopPropagation();
        event.preventDefault();
        onMark(node.path);
      }}
      onKeyDownCapture={(event) => {
        if (event.key !== " ") return;
        event.stopPropagation();
        event.preventDefault();
        onMark(node.path);
      }}
      onClick={(event) => event.detail === 0 && onOpen(node.path)} // by Enter, and not by the mouse
    >
      <span className="tool">{told(node.name)}</span>{" "}
      <span className="hint">{told(node.type)}</span> {title && <span className="hint">{title}</span>} {open > 0 && <span className="warning">{say("openCount", { count: open })}</span>}{" "}
      {state && (
        <span className="state" data-state={state.state}>
          {words(state)}
        </span>
      )}
    </CompositeItem>
  );
}

/** How a node stands, in words: `running, attempt 2 of 3`, `done, 0.4 s`. */
export function useStateWords(): (state: NodeState) => string {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  return (state) =>
    [
      state.passes > 1 ? say("passes", { count: state.passes }) : "",
      state.attempt > 1 ? say(state.most ? "attemptOf" : "attempt", { attempt: state.attempt, most: state.most }) : "",
      state.took !== undefined ? span(state.took) : "",
      common(stateKey(state.state)),
    ]
      .filter(Boolean)
      .join(", ");
}
