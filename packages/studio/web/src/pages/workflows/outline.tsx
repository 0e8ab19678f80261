// The outline: each node once, under its container, with how it stands in the run that is shown. The arrow keys move.
import { Composite, CompositeItem, CompositeProvider } from "@ariakit/react";

import type { Flow, FlowNode } from "../../core/flow/document";
import type { NodeState } from "../../core/flow/states";
import { useText } from "../../core/language";
import { cut, span, told } from "../../core/shown";
import { COMMON, stateKey } from "../../core/texts";
import { TEXTS } from "./texts";

interface Given {
  flow: Flow;
  states: ReadonlyMap<string, NodeState>;
  chosen: string;
  onChoose: (path: string) => void;
  /** The node is to be worked on: its form gets the focus. */
  onOpen: (path: string) => void;
}

export function Outline({ flow, states, chosen, onChoose, onOpen }: Given) {
  const say = useText(TEXTS);
  const levels = new Map<string, number>();
  return (
    <section className="outline">
      <h2>{say("outline")}</h2>
      {flow.nodes.length === 0 && <p className="hint">{say("noNodes")}</p>}
      <CompositeProvider orientation="vertical" activeId={chosen ? idOf(chosen) : null} setActiveId={(id) => id && onChoose(pathOf(id))}>
        <Composite role="tree" aria-label={say("outline")} className="tree">
          {flow.nodes.map((node) => {
            const level = (levels.get(node.parent) ?? 0) + 1;
            levels.set(node.path, level);
            return <Item key={node.path} node={node} level={level} state={states.get(node.path)} isChosen={node.path === chosen} onOpen={onOpen} />;
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
  onOpen: (path: string) => void;
}

function Item({ node, level, state, isChosen, onOpen }: Line) {
  const words = useStateWords();
  const title = typeof node.value["title"] === "string" ? cut(told(node.value["title"]), 60).text : "";
  const said = [told(node.name), told(node.type), title, state ? words(state) : ""].filter(Boolean).join(", ");
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
      onClick={(event) => event.detail === 0 && onOpen(node.path)} // by Enter, and not by the mouse
    >
      <span className="tool">{told(node.name)}</span>{" "}
      <span className="hint">{told(node.type)}</span> {title && <span className="hint">{title}</span>}{" "}
      {state && (
        <span className="state" data-state={state.state}>
          {words(state)}
        </span>
      )}
    </CompositeItem>
  );
}

/** How a node stands, in words: `running, attempt 2`, `done, 0.4 s`. */
export function useStateWords(): (state: NodeState) => string {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  return (state) =>
    [
      state.passes > 1 ? say("passes", { count: state.passes }) : "",
      state.attempt > 1 ? say("attempt", { attempt: state.attempt }) : "",
      state.took !== undefined ? span(state.took) : "",
      common(stateKey(state.state)),
    ]
      .filter(Boolean)
      .join(", ");
}
