import { agentOf, newAgent, withField, withLimit } from "./agent";
import { expect, test } from "vitest";

import { branchPoints } from "./branches";
import { citedIn } from "./cited";
import { parametersOf } from "./declared";
import { taken, type Followed } from "./followed";
import { cut, localMoment, momentOf, target, told, visible } from "./shown";
import { bar, rows, zoomed, type Span } from "./spans";
import { EventReader, type ServerEvent } from "./sse";
import { filled } from "./template";
import { turn } from "./turns";
import type { RunEvent } from "./types";

const entry = (number: number, type: RunEvent["type"], more: Partial<RunEvent> = {}): RunEvent =>
  ({ run: "r", number, at: number, type, ...more }) as RunEvent;

test("a stream cut anywhere gives the same events", () => {
  const bytes = new TextEncoder().encode(': open\n\nid: 1\nevent: entry\ndata: {"a":"ä题"}\n\ndata: one\r\ndata: two\r\n\r\n');
  const whole: ServerEvent[] = [
    { id: "1", name: "entry", data: '{"a":"ä题"}' },
    { id: "1", name: "message", data: "one\ntwo" },
  ];
  for (let at = 0; at <= bytes.length; at++) {
    const reader = new EventReader();
    expect([...reader.read(bytes.slice(0, at)), ...reader.read(bytes.slice(at))]).toEqual(whole);
  }
});

test("an entry that comes twice, or late, is shown once and in its order", () => {
  let known: Followed = { entries: [], words: "" };
  for (const news of [
    { entry: entry(2, "model_replied") },
    { delta: { text: "ha", is_anew: true } },
    { delta: { text: "lf", is_anew: false } },
    { entry: entry(0, "started") },
    { entry: entry(2, "model_replied") },
  ]) {
    known = taken(known, news);
  }
  expect(known.entries.map((each) => each.number)).toEqual([0, 2]);
  expect(known.words).toBe("half");
  expect(taken(known, { delta: { text: "anew", is_anew: true } }).words).toBe("anew");
  expect(taken(known, { lost: true }).words).toBe("");
  expect(taken(known, { entry: entry(3, "ended") }).words).toBe("");
});

test("what nobody sees, or what turns the direction of a text, is shown as an escape", () => {
  expect(visible("pay\u202e001\u200b")).toBe("pay\\u{202e}001\\u{200b}");
  expect(visible("a\n\tb")).toBe("a\n\tb");
  expect(told({ __proto__: null, a: "\u0000" })).not.toContain("\u0000");
  expect(cut("x".repeat(30_000))).toEqual({ text: "x".repeat(20_000), left: 10_000 });
});

test("only links of the web and of mail are followed", () => {
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "file:///etc", "//host", "/v1/keys", "blob:x", ""]) {
    expect(target(bad)).toBeUndefined();
  }
  expect(target("https://example.com/a")?.host).toBe("example.com");
});

test("a value in a text is never read as a place for another value", () => {
  expect(filled("{a} {b}", { a: "{b}", b: "2" })).toBe("{b} 2");
});

test("a call is one card, whatever became of it", () => {
  const found = turn([
    entry(0, "started", { text: "Pay" }),
    entry(1, "calls_requested", { calls: [{ tool: "pay", arguments: {} }] }),
    entry(2, "call_parked", { call: "c", tool: "pay", approval: "ap" }),
    entry(3, "intended", { call: "c", tool: "pay", arguments: { to: "ada" }, attempt: 1 }),
    entry(4, "call_completed", { call: "c", tool: "pay", result: "ok", is_final: true }),
    entry(5, "model_replied", { text: "Paid." }),
    entry(6, "ended", { status: "done" }),
  ]);
  expect(found.steps.map((each) => each.kind)).toEqual(["calls", "said"]);
  const [calls] = found.steps;
  expect(calls?.kind === "calls" && calls.calls.map((each) => [each.state, each.arguments])).toEqual([["done", { to: "ada" }]]);
  expect([found.question, found.status, found.isOver]).toEqual(["Pay", "done", true]);
});

test("an answer that was refused is not shown, and the answer is what was told at the end", () => {
  const found = turn([
    entry(0, "started", { text: "What may a hotel cost?" }),
    entry(1, "model_replied", { text: "I look.", calls: [{ tool: "search", arguments: {} }] }),
    entry(2, "model_replied", { text: "200 euros [1]." }),
    entry(3, "model_replied", { text: "120 euros [1]. Breakfast is free." }),
    entry(4, "ended", { status: "done", text: "120 euros [1]. Breakfast is free. [?]" }),
  ]);
  expect(found.steps.map((each) => each.kind === "said" && each.text)).toEqual(["I look.", "120 euros [1]. Breakfast is free. [?]"]);
});

test("references are cut out of a text, and a text in brackets that is none stays", () => {
  expect(citedIn("a [1][2] b [12345] [0] [x] [?]")).toEqual(["a ", 1, 2, " b [12345] [0] [x] ", 0]);
  expect(citedIn("none")).toEqual(["none"]);
});

test("a run branches off at its beginning and behind each call, but for places where another call is under way", () => {
  const found = branchPoints([
    entry(0, "started"),
    entry(1, "intended", { call: "1.0", tool: "pay" }),
    entry(2, "intended", { call: "1.1", tool: "look" }),
    entry(3, "call_completed", { call: "1.1", tool: "look", result: "seen" }),
    entry(4, "call_completed", { call: "1.0", tool: "pay", result: { paid: 5 } }),
    entry(5, "call_refused", { call: "1.2", tool: "send", error: { message: "denied" } as RunEvent["error"] }),
  ]);
  expect(found.map((each) => [each.at, each.tool])).toEqual([[0, ""], [4, "pay"], [5, "send"]]);
  expect(found.map((each) => each.result)).toEqual(["", '{\n  "paid": 5\n}', "denied"]);
});

test("the parameters of a declaration are read, flat or not, and a text that is none gives nothing", () => {
  const flat = { city: "string", days: { type: "integer", default: 3 }, __proto__: null, ["__proto__"]: "string" };
  const found = parametersOf(JSON.stringify({ name: "now", parameters: flat }));
  expect(Object.keys(found?.properties ?? {})).toEqual(["city", "days", "__proto__"]);
  expect(found?.required).toEqual(["city", "__proto__"]);
  const schema = { type: "object", properties: { a: { type: "string" } } };
  expect(parametersOf(JSON.stringify({ type: "function", function: { input_schema: schema } }))).toEqual(schema);
  for (const none of ["", "name: now", '{"parameters": []}', '{"parameters']) expect(parametersOf(none)).toBeUndefined();
});

test("a moment comes back out of its field, and what is none is empty", () => {
  expect(momentOf(localMoment("1764435600"))).toBe("1764435600");
  for (const none of ["", "x", "1e99", "NaN"]) expect(momentOf(localMoment(none))).toBe("");
});

test("a closed row hides all that stands in it, and a bar never leaves the view", () => {
  const span = (id: string, parent: string, began: number, ended: number | null): Span =>
    ({ id, parent, kind: "call", name: id, began, ended, state: "done" }) as Span;
  const all = [span("a", "", 0, 10), span("b", "a", 1, 4), span("c", "b", 2, 3), span("d", "", 5, null)];
  expect(rows(all, new Set()).map((each) => [each.span.id, each.level])).toEqual([["a", 1], ["b", 2], ["c", 3], ["d", 1]]);
  expect(rows(all, new Set(["a"])).map((each) => each.span.id)).toEqual(["a", "d"]);
  const near = zoomed({ from: 0, until: 10 }, { from: 0, until: 10 }, 2, 9);
  expect(near.until - near.from).toBeCloseTo(5);
  expect(near.until).toBeLessThanOrEqual(10);
  expect(zoomed(near, { from: 0, until: 10 }, 0.01, 9)).toEqual({ from: 0, until: 10 });
  for (const each of all) {
    const found = bar(each, { from: 2, until: 6 });
    if (found) expect(found.left + found.width).toBeLessThanOrEqual(100.1);
  }
  expect(bar(all[2] as Span, { from: 6, until: 8 })).toBeUndefined();
});

test("a field of an agent's form changes its part of the text and nothing else", () => {
  const text = JSON.stringify({ ["__proto__"]: 1, name: "helper", users: ["ann"], limits: { steps: 5, cost: 2 }, tools: ["a@3", "constructor"] });
  expect(agentOf(text)).toMatchObject({ model: "", instructions: "", tools: ["a@3", "constructor"], limits: { steps: 5 } });
  const changed = withLimit(withField(withField(text, "model", "poet"), "model", ""), "steps", undefined);
  expect(Object.entries(JSON.parse(changed) as object)).toEqual(Object.entries({ ...JSON.parse(text), limits: { cost: 2 } }));
  expect(withLimit('{"limits": {"calls": 1}}', "calls", undefined)).toBe("{}");
  expect(agentOf('{"instructions": {"prompt": "desk@2"}}')).toMatchObject({ prompt: "desk@2", instructions: "" });
  expect(agentOf(newAgent("__proto__"))).toMatchObject({ tools: [], limits: {} });
  for (const none of ["", "name: a", "[]", '{"tools": "a"}', '{"limits": 1}', '{"limits": {"steps": "x"}}', '{"model": null}'])
    expect(agentOf(none)).toBeUndefined();
  expect(withField("name: a", "model", "x")).toBe("name: a");
});
