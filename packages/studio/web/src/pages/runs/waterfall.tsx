// Where the time of a run went: a tree of spans, each with a bar. Arrow keys move, + and - zoom, Enter shows the span.
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";

import { useAnew } from "../../core/anew";
import { ask } from "../../core/api";
import { dictionary, useText } from "../../core/language";
import { useOwn } from "../../core/own";
import { span as seconds, told } from "../../core/shown";
import { bar, rows, zoomed, type Span, type Timeline, type View } from "../../core/spans";
import type { State } from "../../core/texts";
import { Failed } from "../../parts/failed";
import { Asked } from "../../parts/failure";
import { Arguments, StateText, Value } from "../../parts/values";

const TEXTS = dictionary(
  {
    waterfall: "Waterfall",
    span: "Span",
    state: "State",
    time: "Time",
    took: "Took",
    keys: "Arrow keys move and fold, + and − zoom, 0 shows all.",
    whole: "The record is whole: each entry is sealed by those before it.",
    broken: "The record is not as it was written:",
    rule: "Rule: {rule}",
    by: "Answered by {by}",
    child: "Open the run that this call started",
    attempt: "attempt {attempt}",
    model: "model",
    call: "call",
    check: "check",
    question: "question",
    node: "node",
    note: "note",
  },
  {
    waterfall: "瀑布图",
    span: "步骤",
    state: "状态",
    time: "时间",
    took: "用时",
    keys: "方向键移动和折叠，+ 与 − 缩放，0 显示全部。",
    whole: "记录完整：每一条都由之前的各条封存。",
    broken: "记录与写入时不一致：",
    rule: "规则：{rule}",
    by: "由 {by} 答复",
    child: "打开此调用启动的运行",
    attempt: "第 {attempt} 次尝试",
    model: "模型",
    call: "调用",
    check: "检查",
    question: "询问",
    node: "节点",
    note: "备注",
  },
);

/** So much nearer or farther a key brings the view. */
const ZOOM = 1.6;

export function Waterfall({ run, entries }: { run: string; entries: number }) {
  const query = useAnew({
    queryKey: ["timeline", run],
    queryFn: ({ signal }) => ask<Timeline>("GET", `/v1/runs/${encodeURIComponent(run)}/timeline`, { signal }),
    news: entries,
  });
  return <Asked query={query}>{(timeline) => <Tree timeline={timeline} />}</Asked>;
}

function Tree({ timeline }: { timeline: Timeline }) {
  const say = useText(TEXTS);
  const whole: View = { from: timeline.began, until: Math.max(timeline.latest, timeline.began + 0.001) };
  const [view, setView] = useState<View>();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState("");
  const grid = useRef<HTMLDivElement>(null);
  const hasMoved = useRef(false);
  const seen = rows(timeline.spans, closed);
  const last = seen.length - 1;
  const first = seen[last]?.span.state === "failed" ? last : 0; // why a run failed is shown without a press
  const at = chosen ? Math.max(0, seen.findIndex((each) => each.span.id === chosen)) : first;
  const row = seen[at];
  const shown = view ?? whole;

  useEffect(() => {
    if (hasMoved.current) grid.current?.querySelector<HTMLElement>("[data-chosen=true]")?.focus();
    hasMoved.current = false;
  }, [chosen]);

  function move(to: number) {
    const next = seen[Math.max(0, Math.min(seen.length - 1, to))];
    hasMoved.current = true;
    if (next) setChosen(next.span.id);
  }
  function fold(isClosed: boolean) {
    if (!row) return;
    if (row.hasChildren && row.isOpen === isClosed) {
      setClosed(new Set(isClosed ? [...closed, row.span.id] : [...closed].filter((each) => each !== row.span.id)));
    } else {
      move(isClosed ? seen.findIndex((each) => each.span.id === row.span.parent) : at + 1);
    }
  }
  function press(event: KeyboardEvent) {
    const around = row ? Math.max(shown.from, Math.min(shown.until, row.span.began)) : shown.from;
    const act: Record<string, () => void> = {
      ArrowDown: () => move(at + 1),
      ArrowUp: () => move(at - 1),
      Home: () => move(0),
      End: () => move(seen.length - 1),
      ArrowRight: () => fold(false),
      ArrowLeft: () => fold(true),
      "+": () => setView(zoomed(shown, whole, ZOOM, around)),
      "=": () => setView(zoomed(shown, whole, ZOOM, around)),
      "-": () => setView(zoomed(shown, whole, 1 / ZOOM, around)),
      "0": () => setView(undefined),
    };
    const found = Object.hasOwn(act, event.key) ? act[event.key] : undefined;
    if (!found || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    found();
  }

  return (
    <section>
      <h2>{say("waterfall")}</h2>
      <p className="hint">{say("keys")}</p>
      <div role="treegrid" aria-label={say("waterfall")} className="waterfall" ref={grid} onKeyDown={press}>
        <div role="row" className="head">
          {(["span", "state", "time", "took"] as const).map((each) => (
            <span key={each} role="columnheader">
              {say(each)}
            </span>
          ))}
        </div>
        {seen.map(({ span, level, hasChildren, isOpen }, place) => (
          <div
            key={span.id}
            role="row"
            aria-level={level}
            aria-expanded={hasChildren ? isOpen : undefined}
            aria-selected={place === at}
            data-chosen={place === at}
            tabIndex={place === at ? 0 : -1}
            onClick={() => setChosen(span.id)}
            onFocus={() => setChosen(span.id)}
          >
            <span role="gridcell" className="name" data-level={Math.min(level, 5)}>
              {hasChildren ? (isOpen ? "▾ " : "▸ ") : ""}
              {nameOf(span, say)}
            </span>
            <span role="gridcell">
              <StateText state={span.state as State} />
            </span>
            <Bar span={span} view={shown} />
            <span role="gridcell">{span.ended === null ? "" : seconds(span.ended - span.began)}</span>
          </div>
        ))}
      </div>
      {row && <Detail span={row.span} />}
      <p className="hint">{timeline.is_whole ? say("whole") : `${say("broken")} ${told(timeline.problems.join("; "))}`}</p>
    </section>
  );
}

function nameOf(span: Span, say: ReturnType<typeof useText<keyof (typeof TEXTS)["en"]>>): string {
  if (span.kind === "attempt") return say("attempt", { attempt: span.attempt ?? 1 });
  return `${told(span.name)} (${say(span.kind)})`;
}

function Bar({ span, view }: { span: Span; view: View }) {
  const found = bar(span, view);
  return (
    <span role="gridcell">
      <svg aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">
        {found && <rect className="bar" data-state={span.state} x={found.left} y="1" width={found.width} height="8" />}
      </svg>
    </span>
  );
}

function Detail({ span }: { span: Span }) {
  const say = useText(TEXTS);
  const own = useOwn();
  const isBare = !span.rule && !span.by && !span.text && !span.arguments && !span.error && span.result == null && !span.run;
  if (isBare) return null;
  return (
    <div className="card">
      <h3>{nameOf(span, say)}</h3>
      {span.rule && <p>{say("rule", { rule: own(span.rule) })}</p>}
      {span.by && <p>{say("by", { by: told(span.by) })}</p>}
      {span.code ? <Failed error={{ code: span.code, message: span.text ?? "" }} /> : span.text && <Value value={own(span.text)} />}
      {span.arguments && <Arguments values={span.arguments} />}
      {span.error ? (
        <Failed error={span.error} />
      ) : (
        span.result != null && <Value value={span.result} />
      )}
      {span.run && (
        <p>
          <Link to={`/runs/${span.run}` as string}>{say("child")}</Link>
        </p>
      )}
    </div>
  );
}
