// The report of an import, kept as comments at the head of the text: all who open the draft see what is still open, and
// who has seen to a line takes it away.
import { called, CHARS_MAX, type Flow } from "./document";

export interface ReportLine {
  status: "open" | "lost" | "near";
  /** The name of a node; empty for what belongs to none. */
  node: string;
  field: string;
  message: string;
}

export interface KeptLine extends ReportLine {
  /** The line of the text, from 1. */
  line: number;
}

/** The most lines that are kept, those first of which a person has to choose something. */
const LINES_MAX = 300;
const ORDER: readonly ReportLine["status"][] = ["open", "lost", "near"];
const LINE = /^# (open|lost|near) at (\w*), ([^:]*): (.*)$/;

/** The text of an import under a name, with its report. */
export function withReport(text: string, name: string, lines: readonly ReportLine[]): string {
  const kept = ORDER.flatMap((status) => lines.filter((each) => each.status === status)).slice(0, LINES_MAX);
  const comments = kept.map((each) => `# ${each.status} at ${each.node}, ${plain(each.field).replaceAll(":", " ")}: ${plain(each.message).slice(0, 300)}\n`);
  return (comments.length ? `${comments.join("")}\n` : "") + called(text, name);
}

/** In one line: nothing of a message becomes YAML. */
function plain(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}

/** What is still to be seen to. */
export function reportOf(text: string): KeptLine[] {
  if (text.length > CHARS_MAX || !text.includes(" at ")) return [];
  return text.split("\n").flatMap((each, place) => {
    const [, status, node = "", field = "", message = ""] = LINE.exec(each) ?? [];
    return status ? [{ status: status as ReportLine["status"], node, field, message, line: place + 1 }] : [];
  });
}

/** The text without this line of its report. */
export function withoutLine(text: string, line: KeptLine): string {
  const lines = text.split("\n");
  return LINE.test(lines[line.line - 1] ?? "") ? lines.filter((_, place) => place !== line.line - 1).join("\n") : text;
}

/** Where a line of the report is in the definition, as `check` names places; empty where its node is gone. */
export function placeOfLine(flow: Flow | undefined, line: ReportLine): string {
  const node = line.node && flow?.nodes.find((each) => each.name === line.node);
  return node ? [...node.path.split("/").flatMap((each) => ["nodes", each]), line.field].join(".") : "";
}
