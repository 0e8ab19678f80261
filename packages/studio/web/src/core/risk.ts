// What the defence against orders in foreign text says of a call, put together of its facts in the language of the page. A
// test of the server's side holds the sentences equal to those there (core/run/risk.py).
import { dictionary, usePreferences, type Language } from "./language";
import { told } from "./shown";
import { filled, type Values } from "./template";
import type { Approval } from "./types";

const RISK = dictionary(
  {
    wants: "The model wants to use {tool}, after it has read what somebody else wrote ({brought}).",
    asked: "You asked for: {calls}.",
    nothing: "You asked for nothing that changes anything.",
    labelled: "{tool} may give values with the label {label} to somebody who may not have them.",
    fixed: "You asked for {values}.",
    tool: "`{name}`: {value}, from what `{tool}` brought, written by somebody else.",
    program: "`{name}`: {value}, named by another program.",
    model: "`{name}`: {value}, which nobody has said: the model made it.",
  },
  {
    wants: "模型在读到别人写的内容（{brought}）之后，想使用 {tool}。",
    asked: "您要求的是：{calls}。",
    nothing: "您没有要求做任何更改。",
    labelled: "{tool} 可能把带有标签 {label} 的值交给不该得到它的人。",
    fixed: "您要求的是 {values}。",
    tool: "`{name}`：{value}，来自 `{tool}` 带来的内容，是别人写的。",
    program: "`{name}`：{value}，由另一个程序给出。",
    model: "`{name}`：{value}，没有人说过，是模型自己给出的。",
  },
);

const VALUES_MOST = 5;
const ASKED_MOST = 5;
const BROUGHT_MOST = 3;

type Risk = NonNullable<Approval["risk"]>;

/** The words of the question in the language of the page; other words beside them, such as the tool's own, stay. */
export function useRisk(): (approval: Approval) => string {
  const language = usePreferences((each) => each.language);
  return ({ message, risk }) => {
    if (!risk) return told(message);
    const said = sentences(risk, language);
    const english = sentences(risk, "en");
    return told(message.includes(english) ? message.replace(english, () => said) : said);
  };
}

/** The sentences of a question, in a language. */
export function sentences(risk: Risk, language: Language): string {
  const say = (key: keyof typeof RISK.en, values?: Values) => filled(RISK[language][key], values);
  const lines: string[] = [];
  const { brought = [], asked_for: asked = [], values = [] } = risk;
  if (risk.is_asked_for === false) {
    lines.push(say("wants", { tool: risk.tool, brought: some(brought.map((each) => `\`${each}\``), BROUGHT_MOST) }));
    lines.push(asked.length ? say("asked", { calls: some(asked, ASKED_MOST) }) : say("nothing"));
  }
  if (risk.label) lines.push(say("labelled", { tool: risk.tool, label: risk.label }));
  const fixed = values.filter((each) => each.fixed).map((each) => `\`${each.name}\`: ${each.fixed}`);
  if (fixed.length) lines.push(say("fixed", { values: fixed.join(", ") }));
  for (const each of values.slice(0, VALUES_MOST)) {
    lines.push(say(each.named_by, { name: each.name, value: each.value, tool: each.tool ?? "" }));
  }
  return lines.join(" ");
}

function some(names: readonly string[], most: number): string {
  return names.slice(0, most).join(", ") + (names.length > most ? ", ..." : "");
}
