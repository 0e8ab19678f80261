// No bare text: all that a page says comes out of a dictionary, whose two languages have the same places for values.
// The sources are read, not the pages, so that states which are rarely seen are looked at as well.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import ts from "typescript";
import { expect, test } from "vitest";

const SOURCES = join(import.meta.dirname, "..");
const SAID = new Set(["aria-label", "title", "placeholder", "alt"]);
/** Names, and an address as an example. */
const FINE = new Set(["actum", "English", "中文", "https://models.example.org/v1", "?"]);

function* nodes(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodes(child);
}

const files = readdirSync(SOURCES, { recursive: true, encoding: "utf-8" })
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.ts$|\.d\.ts$/.test(name))
  .map((name) => ts.createSourceFile(name, readFileSync(join(SOURCES, name), "utf-8"), ts.ScriptTarget.Latest, true));

function bare(node: ts.Node): string | undefined {
  if (ts.isJsxText(node)) return node.text.trim();
  if (!ts.isJsxAttribute(node) || !SAID.has(node.name.getText())) return undefined;
  return node.initializer && ts.isStringLiteral(node.initializer) ? node.initializer.text : undefined;
}

test("no page says a text that stands in no dictionary", () => {
  const found = files.flatMap((file) =>
    [...nodes(file)].map(bare).filter((text) => text && /\p{L}{2}/u.test(text) && !FINE.has(text)).map((text) => `${file.fileName}: ${text}`),
  );
  expect(found).toEqual([]);
});

function texts(node: ts.Expression | undefined): Map<string, string> {
  const found = new Map<string, string>();
  if (!node || !ts.isObjectLiteralExpression(node)) return found;
  for (const each of node.properties) {
    if (ts.isPropertyAssignment(each) && ts.isStringLiteral(each.initializer)) found.set(each.name.getText(), each.initializer.text);
  }
  return found;
}

test("both languages say each text, with the same values in it", () => {
  const calls = files.flatMap((file) => [...nodes(file)].filter(ts.isCallExpression).filter((each) => each.expression.getText() === "dictionary"));
  expect(calls.length).toBeGreaterThan(10);
  const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort().join();
  for (const call of calls) {
    const [en, zh] = [texts(call.arguments[0]), texts(call.arguments[1])];
    expect([...zh.keys()].sort()).toEqual([...en.keys()].sort());
    for (const [key, text] of en) {
      expect(places(zh.get(key) ?? ""), key).toEqual(places(text));
      expect(zh.get(key), key).toMatch(/\p{Script=Han}/u);
    }
  }
});
