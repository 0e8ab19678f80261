// The text of a workflow in an editor with lines and colours. It is loaded when somebody asks for the source.
import { defaultKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

import { merged } from "../../core/flow/merge";
import type { Editing } from "./editing";

const PAUSE_MS = 300;
/** Keys with a longer pause between them are undone one after the other. */
const STEP_MS = 1_500;

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.keyword, tags.number, tags.bool, tags.labelName, tags.typeName], color: "var(--warn)" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--raised)", height: "100%", fontSize: ".875rem" },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "-3px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--soft)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--accent-soft)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--line)" },
  ".cm-matchingBracket": { outline: "1px solid var(--accent)" },
});

interface Given {
  label: string;
  help: string;
  editing: Editing;
  /** The line that is to be shown: an object of its own for each wish. */
  line: { line: number } | undefined;
}

export default function Source({ label, help, editing, line }: Given) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const now = useRef(editing);
  useEffect(() => {
    now.current = editing;
  });
  useEffect(() => {
    if (!place.current) return;
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" }); // whose styles need no exception in the policy
    const typed = typing(now);
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: now.current.text,
        extensions: [
          lineNumbers(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          indentOnInput(),
          indentUnit.of("  "),
          yaml(),
          syntaxHighlighting(COLOURS),
          LOOK,
          EditorView.lineWrapping,
          keymap.of(defaultKeymap),
          EditorView.domEventHandlers({ blur: typed.end, keydown: (event) => void ((event.ctrlKey || event.metaKey) && typed.end()) }), // before an undo
          EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-description": help }),
          EditorView.updateListener.of((update) => update.docChanged && !update.transactions.every((each) => each.isUserEvent("put")) && typed.type(update.state.doc.toString())),
        ],
      }),
    });
    view.current = made;
    return () => {
      typed.end();
      made.destroy();
      view.current = undefined;
    };
  }, [label, help]);

  const { text } = editing;
  useEffect(() => {
    const shown = view.current;
    if (!shown || editing.isTyping) return; // what is typed goes on
    const before = shown.state.doc.toString();
    if (before !== text) shown.dispatch({ changes: changed(before, text), userEvent: "put" });
  }, [text, editing.isTyping]);

  useEffect(() => {
    const shown = view.current;
    if (!shown || !line) return;
    const { from, to } = shown.state.doc.line(Math.min(Math.max(1, line.line), shown.state.doc.lines));
    shown.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    shown.focus();
  }, [line]);

  return <div ref={place} className="source" />;
}

/** Puts what was typed into the workflow after a pause, so that a long text costs a key little. */
function typing(now: { current: Editing }) {
  let open: string | undefined;
  let begun = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let [last, step] = [0, 0];
  const end = (): void => {
    clearTimeout(timer);
    if (open === undefined) return;
    const next = open;
    open = undefined;
    const base = begun;
    now.current.change((text) => (text === base ? next : (merged(base, next, text) ?? next)), `source ${step}`); // others may have changed the text
    now.current.typing(false);
  };
  const type = (next: string): void => {
    if (open === undefined && Date.now() - last > STEP_MS) step++;
    last = Date.now();
    if (open === undefined) begun = now.current.text;
    open = next;
    now.current.typing(true);
    clearTimeout(timer);
    timer = setTimeout(end, PAUSE_MS);
  };
  return { type, end };
}

/** What makes one text of another: all between what they begin and end with alike, so that the cursor stays. */
function changed(before: string, after: string) {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from++;
  let tail = 0;
  while (tail < before.length - from && tail < after.length - from && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return { from, to: before.length - tail, insert: after.slice(from, after.length - tail) };
}
