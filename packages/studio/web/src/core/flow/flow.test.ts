import { expect, test } from "vitest";

import { copied, flowOf, freeName, moved, pasted, renamed, whyNotDrawn, withEdge, withField, withNode, withNodeOn, withoutEdge, withoutNodes, withPlaces } from "./document";
import { legalContainers, legalTargets, values } from "./graph";
import { NO_HISTORY, noted, redone, undone } from "./history";
import { boxes } from "./layout";
import { conflicts, merged } from "./merge";
import { placeOfLine, reportOf, withoutLine, withReport } from "./report";
import { newWorkflow, TEMPLATES } from "./templates";
import { newNode, NODE_TYPES } from "./types";

const TEXT = `# Flights
actum: workflow/1
name: desk
inputs: {type: object, properties: {budget: {type: integer}}} # what it may cost
nodes:
  find: {type: tool, tool: search} # the first one
  # in between
  fits: {type: if, cases: [{port: cheap, when: "find.output.size() > 0 && refind.x"}]}
  trips:
    type: each
    over: "\${find.output}"
    nodes:
      price: {type: tool, tool: price, with: {of: "\${item}"}}
      note: {type: say, text: "\${price.output} of \${find.output}"}
    edges: [price > note]
edges: [find > fits, fits.cheap > trips] # the order
outputs: {came: "\${find.output}"}
view: {find: [0, 0]}
`;
const COMMENTS = ["# Flights", "# what it may cost", "# the first one", "# in between", "# the order"];

const flow = (text: string) => flowOf(text) ?? expect.fail("a text that can be read");
const edgesOf = (text: string) => flow(text).edges.map((each) => `${each.source}.${each.port} > ${each.target}`);

test("a text is read with its containers, its ports and its edges", () => {
  expect(flow(TEXT).nodes.map((each) => each.path)).toEqual(["find", "fits", "trips", "trips/price", "trips/note"]);
  expect(edgesOf(TEXT)).toEqual(["trips/price.out > trips/note", "find.out > fits", "fits.cheap > trips"]);
  expect(flow(TEXT).nodes[1]?.ports).toEqual(["cheap", "else"]);
});

test("edits keep each comment, the order, and what they do not speak of", () => {
  let text = withNode(TEXT, "", "tell", newNode("say"), { from: { source: "fits", port: "else" } });
  text = withField(text, "tell", ["text"], "Nothing, ${find.output}");
  text = withField(text, "trips/price", ["with", "of"], "${index}");
  text = renamed(text, "find", "look");
  text = withPlaces(text, new Map([["tell", [10.4, -3]]]));
  for (const each of COMMENTS) expect(text).toContain(each);
  expect(Object.keys(flow(text).view)).toEqual(["look", "tell"]);
  expect(edgesOf(text)).toContain("fits.else > tell");
  expect(edgesOf(text)).toContain("look.out > fits");
  expect(text).toContain('when: "look.output.size() > 0 && refind.x"');
  expect(text).toContain("${price.output} of ${look.output}");
  expect(text).toContain("came: \"${look.output}\"");
  expect(flow(text).nodes.map((each) => each.name)).toEqual(["look", "fits", "trips", "price", "note", "tell"]);
});

test("a node is put on an edge, moved into a container and taken away with its edges", () => {
  const edge = flow(TEXT).edges.find((each) => each.source === "find") ?? expect.fail();
  let text = withNodeOn(TEXT, edge, "wait", newNode("wait"));
  expect(edgesOf(text)).toEqual(expect.arrayContaining(["find.out > wait", "wait.out > fits"]));
  expect(edgesOf(text)).not.toContain("find.out > fits");
  text = moved(text, "wait", "trips");
  expect(flow(text).nodes.map((each) => each.path)).toContain("trips/wait");
  expect(edgesOf(text).join()).not.toContain("wait");
  text = withEdge(text, "trips", { source: "trips/note", port: "out" }, "trips/wait");
  expect(edgesOf(text)).toContain("trips/note.out > trips/wait");
  text = withoutEdge(text, flow(text).edges.find((each) => each.target === "trips/note") ?? expect.fail());
  expect(edgesOf(text)).not.toContain("trips/price.out > trips/note");
  expect(edgesOf(withoutNodes(text, ["trips"]))).toEqual([]);
  for (const each of COMMENTS.filter((each) => each !== "# the order")) expect(withoutNodes(text, ["trips"])).toContain(each);
});

test("an edge is legal within its container, without a cycle and not twice", () => {
  const targets = (source: string, port: string) => legalTargets(flow(TEXT), source, port).map((each) => each.path);
  expect(targets("fits", "else")).toEqual(["trips"]);
  expect(targets("fits", "cheap")).toEqual([]);
  expect(targets("find", "out")).toEqual(["trips"]);
  expect(targets("trips", "out")).toEqual([]);
  expect(targets("trips/note", "out")).toEqual([]);
  expect(legalContainers(flow(TEXT), "find")).toEqual(["trips"]);
  expect(legalContainers(flow(TEXT), "trips")).toEqual([]);
  expect(legalContainers(flow(TEXT), "trips/price")).toEqual([""]);
  const output = { type: "object", properties: { output: { type: "object", properties: { size: { type: ["integer", "null"] }, "not plain": {} } }, text: { type: "string" } } };
  const found = values(flow(TEXT), "trips/note", new Map([["find", output]])).map((each) => `${each.value}: ${each.type}`);
  expect(found).toEqual(["inputs.budget: integer", "price.output: ", "price.text: ", "price.files: ", "find.output: object", "find.output.size: integer | null", "find.text: string", "find.files: ", "fits.output: ", "item: ", "index: integer"]);
});

test("what is copied is pasted under free names, of which the copies speak, and hostile names are names", () => {
  const two = pasted(TEXT, "trips", copied(flow(TEXT), ["trips/price", "trips/note"])) ?? expect.fail();
  expect(two.names).toEqual(["price_2", "note_2"]);
  expect(edgesOf(two.text)).toContain("trips/price_2.out > trips/note_2");
  expect(flow(two.text).nodes.find((each) => each.name === "note_2")?.value["text"]).toBe("${price_2.output} of ${find.output}");
  const whole = pasted(TEXT, "", copied(flow(TEXT), ["trips", "trips/price"])) ?? expect.fail();
  expect(flow(whole.text).nodes.map((each) => each.path).slice(-3)).toEqual(["trips_2", "trips_2/price_2", "trips_2/note_2"]);
  expect(edgesOf(whole.text)).toContain("trips_2/price_2.out > trips_2/note_2");
  for (const each of COMMENTS) expect(whole.text).toContain(each);
  const bad = ["hello", "", "5", '{"actum": "nodes/1"}', '{"actum": "nodes/1", "nodes": {"<b>": {}}}', '{"actum": "nodes/1", "nodes": {"a": &x {}, "b": *x}}', '{"actum": "nodes/1", "nodes": [1]}'];
  for (const each of bad) expect(pasted(TEXT, "", each)).toBeUndefined();
  expect(pasted(TEXT, "", '{"actum": "nodes/1", "nodes": {"__proto__": {"type": "say"}}, "edges": ["a > b", 5, null]}')?.names).toEqual(["__proto__"]);
  const proto = withNode(TEXT, "", "__proto__", newNode("say"), { from: { source: "find", port: "out" } });
  expect(flow(proto).nodes.map((each) => each.name)).toContain("__proto__");
  expect(flow(withField(proto, "__proto__", ["constructor"], 1)).nodes.at(-1)?.value["constructor"]).toBe(1);
  expect(boxes(flow(proto), true).get("__proto__")?.width).toBe(200);
  expect(({} as Record<string, unknown>)["type"]).toBeUndefined();
  expect(freeName(flow(proto), "__proto__")).toBe("__proto___2");
});

test("the report of an import is kept in the text, a line is taken away, and no message becomes YAML", () => {
  const lines = [
    { status: "near" as const, node: "fits", field: "retry", message: "repeated by the call path" },
    { status: "open" as const, node: "price", field: "model: name", message: "name\n  it: [\u2028*x" },
    { status: "lost" as const, node: "", field: "icon", message: "" },
  ];
  const text = withReport(TEXT, "other", lines);
  expect(flow(text).name).toBe("other");
  expect(flow(text).nodes).toEqual(flow(TEXT).nodes);
  const found = reportOf(withField(text, "find", ["title"], "Find"));
  expect(found.map((each) => [each.status, each.node, each.line])).toEqual([["open", "price", 1], ["lost", "", 2], ["near", "fits", 3]]);
  expect(found[0]?.message).toBe("name it: [ *x");
  expect(placeOfLine(flow(text), found[0] ?? expect.fail())).toBe("nodes.trips.nodes.price.model  name");
  expect(placeOfLine(flow(text), { ...lines[0], node: "gone" } as (typeof lines)[0])).toBe("");
  const less = withoutLine(text, found[0] ?? expect.fail());
  expect(reportOf(less).map((each) => each.status)).toEqual(["lost", "near"]);
  expect(withoutLine(less, { ...(found[0] ?? expect.fail()), line: 9 })).toBe(less);
  expect(reportOf(renamed(text, "trips/price", "cost"))[0]?.node).toBe("cost");
  expect(reportOf(TEXT)).toEqual([]);
});

test("nodes that all have the same place are laid out, as those that have none", () => {
  const heap = TEXT.replace("view: {find: [0, 0]}", `view: {${["find", "fits", "trips", "trips/price", "trips/note"].map((each) => `${each}: [80, 282]`).join(", ")}}`);
  expect(heap).not.toBe(TEXT);
  expect(boxes(flow(heap))).toEqual(boxes(flow(TEXT), true));
  const two = TEXT.replace("{find: [0, 0]}", "{find: [0, 0], fits: [0, 300]}");
  expect(boxes(flow(two)).get("fits")).toMatchObject({ x: 0, y: 300 });
});

test("texts that can not be drawn are left as they are", () => {
  const bomb = `a: &a [1,1,1,1,1,1,1,1,1]\n${[..."bcdefgh"].map((each, at) => `${each}: &${each} [${`*${"abcdefgh"[at]},`.repeat(9)}1]`).join("\n")}\n`;
  const many = Array.from({ length: 5_000 }, (_, at) => `  n${at}: {type: say, text: x}\n`).join("");
  const texts = { "nodes: [": "unread", "5": "unread", [bomb]: "aliases", "nodes: {a: &a {type: say}, b: *a}": "aliases", [`nodes: {${"x: {type: say},".repeat(40_000)}}`]: "large", [`nodes:\n${many}`]: "large" };
  for (const [text, why] of Object.entries(texts)) {
    expect(flowOf(text)).toBeUndefined();
    expect(whyNotDrawn(text)).toBe(why);
    expect(withNode(text, "", "a", {})).toBe(text);
  }
});

/** Numbers that look random and are the same each time. */
function* numbers(seed: number): Generator<number> {
  for (let at = seed; ; ) {
    at = (at * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield at / 2_147_483_648;
  }
}

function edit(text: string, next: () => number): string {
  const { nodes, edges } = flow(text);
  const node = nodes[Math.floor(next() * nodes.length)];
  const edge = edges[Math.floor(next() * edges.length)];
  const types = Object.keys(NODE_TYPES);
  switch (Math.floor(next() * 6)) {
    case 0:
      return withNode(text, node?.isContainer ? node.path : "", freeName(flow(text), "node"), newNode(types[Math.floor(next() * types.length)] ?? "say"));
    case 1:
      return nodes.length > 3 && node ? withoutNodes(text, [node.path]) : text;
    case 2:
      return node ? withField(text, node.path, ["title"], `title ${next()}`) : text;
    case 3:
      return edge ? withoutEdge(text, edge) : text;
    case 4:
      return node ? renamed(text, node.path, freeName(flow(text), "other")) : text;
    default:
      return node ? withPlaces(text, new Map([[node.path, [next() * 100, 5]]])) : text;
  }
}

test("undo of any sequence of edits gives the same text back, to the byte, and redo the other", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const source = numbers(seed);
    const next = () => Number(source.next().value);
    let [text, history] = [TEXT, NO_HISTORY];
    for (let count = 0; count < 12; count++) {
      const before = text;
      text = edit(text, next);
      history = noted(history, before, text);
    }
    const last = text;
    for (let back = undone(history, text); back; back = undone(history, text)) ({ text, history } = back);
    expect(text).toBe(TEXT);
    for (let on = redone(history, text); on; on = redone(history, text)) ({ text, history } = on);
    expect(text).toBe(last);
  }
  let typed = noted(noted(NO_HISTORY, "a", "ab", "field"), "ab", "abc", "field");
  expect(undone(typed, "abc")?.text).toBe("a");
  typed = noted(typed, "abc", "abcd", "other");
  expect(undone(typed, "abcd")?.text).toBe("abc");
});

test("undo takes back the edit of this person alone, where others have changed the text since", () => {
  const mine = withField(TEXT, "find", ["title"], "Mine");
  const more = withField(mine, "trips", ["title"], "More");
  const history = noted(noted(NO_HISTORY, TEXT, mine), mine, more);
  const theirs = withField(withNode(more, "trips", "theirs", newNode("say")), "fits", ["title"], "Theirs");
  const once = undone(history, theirs) ?? expect.fail();
  const twice = undone(once.history, once.text) ?? expect.fail();
  const titles = (text: string) => flow(text).nodes.map((each) => each.value["title"]);
  expect(titles(once.text)).toEqual(["Mine", "Theirs", undefined, undefined, undefined, undefined]);
  expect(titles(twice.text)).toEqual([undefined, "Theirs", undefined, undefined, undefined, undefined]);
  const again = redone(twice.history, twice.text) ?? expect.fail();
  expect(redone(again.history, again.text)?.text).toBe(theirs);
});

test("of what both changed a side is chosen, and all else of both is kept", () => {
  let mine = withField(withField(TEXT, "find", ["tool"], "mine"), "trips/price", ["tool"], "mine");
  mine = withField(mine, "fits", ["title"], "mine");
  let theirs = withField(withField(TEXT, "find", ["tool"], "theirs"), "trips/note", ["text"], "theirs");
  theirs = withEdge(withNode(theirs, "trips", "new", newNode("say")), "trips", { source: "trips/note", port: "out" }, "trips/new");
  expect(merged(TEXT, mine, theirs)).toBeUndefined();
  expect(conflicts(TEXT, mine, theirs)).toEqual([{ place: "find", mine: "type: tool\ntool: mine\n", theirs: "type: tool\ntool: theirs\n" }]);
  for (const side of ["mine", "theirs"] as const) {
    const both = merged(TEXT, mine, theirs, side) ?? expect.fail();
    const values = Object.fromEntries(flow(both).nodes.map((each) => [each.path, each.value]));
    expect([values["find"]?.["tool"], values["trips/price"]?.["tool"], values["trips/note"]?.["text"], values["fits"]?.["title"]]).toEqual([side, "mine", "theirs", "mine"]);
    expect(edgesOf(both)).toContain("trips/note.out > trips/new");
    for (const each of COMMENTS) expect(both).toContain(each);
  }
  expect(conflicts(TEXT, withoutNodes(TEXT, ["find"]), theirs)?.[0]).toMatchObject({ place: "find", mine: "" });
  expect(conflicts(TEXT, "nodes: [", theirs)).toBeUndefined();
});

test("of random pairs of edits of different nodes nothing is lost, and comments stay", () => {
  const names = ["find", "fits", "trips"];
  for (let seed = 1; seed <= 60; seed++) {
    const source = numbers(seed);
    const next = () => Number(source.next().value);
    const [one, two] = [Math.floor(next() * 3), Math.floor(next() * 3)];
    const mine = withField(TEXT, names[one] ?? "", ["title"], `mine ${seed}`);
    let theirs = withField(TEXT, names[two] ?? "", ["title"], `theirs ${seed}`);
    theirs = withNode(theirs, "", "theirs", newNode("say"), { from: { source: "fits", port: "else" } });
    theirs = withoutEdge(theirs, flow(theirs).edges.find((each) => each.source === "find") ?? expect.fail());
    const both = merged(TEXT, mine, theirs);
    if (one === two) {
      expect(both).toBeUndefined();
      continue;
    }
    const found = new Map(flow(both ?? "").nodes.map((each) => [each.path, each.value["title"]]));
    expect([found.get(names[one] ?? ""), found.get(names[two] ?? "")]).toEqual([`mine ${seed}`, `theirs ${seed}`]);
    expect(edgesOf(both ?? "").sort()).toEqual(["fits.cheap > trips", "fits.else > theirs", "trips/price.out > trips/note"]);
    for (const each of COMMENTS) expect(both).toContain(each);
  }
  const mine = withField(TEXT, "find", ["title"], "kept");
  expect(merged(TEXT, TEXT, mine)).toBe(mine);
  expect(merged(TEXT, withoutNodes(TEXT, ["fits"]), withField(TEXT, "fits", ["title"], "changed"))).toBeUndefined();
});

test("nodes are drawn apart from each other, each within its container", () => {
  for (const isTidy of [false, true]) {
    const found = boxes(flow(TEXT), isTidy);
    const trips = found.get("trips") ?? expect.fail();
    for (const name of ["trips/price", "trips/note"]) {
      const box = found.get(name) ?? expect.fail();
      expect(box.x >= 0 && box.y >= 0 && box.x + box.width <= trips.width && box.y + box.height <= trips.height).toBe(true);
    }
    const [one, other] = [found.get("find"), found.get("fits")];
    expect(one && other && (one.x + one.width <= other.x || one.y + one.height <= other.y)).toBe(true);
  }
});

test("each template is a workflow that can be read", () => {
  for (const each of TEMPLATES) {
    expect(flow(newWorkflow("a-b", each)).name).toBe("a-b");
    const text = withNode(newWorkflow("x", each), "", "new", newNode("say"));
    expect(flow(text).nodes.at(-1)?.name).toBe("new");
  }
  expect(withNode(newWorkflow("x", "empty"), "", "new", newNode("say"))).toContain("nodes:\n  new:\n    type: say\n");
});
