// Sentences that the server itself puts on record, in English: a page says them in its language. A test of the server's
// side holds them equal to those there.
import { dictionary, usePreferences } from "./language";
import { told } from "./shown";

const OWN = dictionary(
  {
    effect: "This changes something outside the conversation.",
    undeclared: "This tool does not say what it changes.",
    doubt: "The program was interrupted during this call. It may or may not have happened. Did it?",
    always: "This tool asks for approval every time.",
    failed: "The policy could not judge this call.",
    noRule: "No rule allows this without a person.",
    reads: "default: only reads",
    passed: "default: passed by the developer",
    changes: "default: a side effect",
    silent: "default: undeclared foreign tool",
  },
  {
    effect: "这个操作会改变对话之外的东西。",
    undeclared: "这个工具没有说明它会改变什么。",
    doubt: "程序在这次调用期间中断了。它可能执行了，也可能没有。它执行了吗？",
    always: "这个工具每次都要求审批。",
    failed: "策略无法判断这次调用。",
    noRule: "没有规则允许在无人审批的情况下执行。",
    reads: "默认：只读取",
    passed: "默认：开发者已放行",
    changes: "默认：有副作用",
    silent: "默认：外来工具没有声明作用",
  },
);

const KEYS = new Map(Object.entries(OWN.en).map(([key, text]) => [text, key as keyof typeof OWN.en]));

/** Says a text of the record: our own sentences in the language of the page, all others as they are. */
export function useOwn(): (text: string) => string {
  const language = usePreferences((each) => each.language);
  return (text) => {
    const key = KEYS.get(text);
    return key ? OWN[language][key] : told(text);
  };
}
