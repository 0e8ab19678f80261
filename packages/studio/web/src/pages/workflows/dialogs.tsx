// The dialogs of the canvas: each asks one thing and does it.
import { Combobox, ComboboxItem, ComboboxList, useComboboxStore } from "@ariakit/react";
import { useState, type KeyboardEvent } from "react";

import { NODE_TYPES } from "../../core/flow/types";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { Dialog } from "../../parts/dialog";
import { TEXTS } from "./texts";

export interface Option {
  value: string;
  label: string;
  note?: string;
}

/** Those that have the words, with those first whose label begins with them. */
function fitting(options: readonly Option[], words: string): Option[] {
  const place = (each: Option) => (each.label.toLowerCase().startsWith(words) ? each.label.length : 1_000);
  const found = options.filter((each) => `${each.label} ${each.note ?? ""}`.toLowerCase().includes(words));
  return words ? found.sort((one, other) => place(one) - place(other)) : found;
}

/** One of several options, found by typing. */
export function Choose(props: { title: string; search: string; options: readonly Option[]; none: string; onChoose: (value: string) => void; onClose: () => void }) {
  const [words, setWords] = useState("");
  const store = useComboboxStore({ open: true, includesBaseElement: false, setValue: setWords, resetValueOnHide: false, focusLoop: true });
  const found = fitting(props.options, words.trim().toLowerCase());
  function press(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    event.preventDefault(); // who types and presses Enter at once means the first one
    const { activeValue } = store.getState();
    const chosen = found.find((each) => each.value === activeValue) ?? found[0];
    if (chosen) props.onChoose(chosen.value);
  }
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      {props.options.length === 0 ? (
        <p className="hint">{props.none}</p>
      ) : (
        <>
          <Combobox store={store} aria-label={props.search} placeholder={props.search} autoSelect="always" autoFocus onKeyDown={press} />
          <ComboboxList store={store} alwaysVisible aria-label={props.title} className="options">
            {found.map((each) => (
              <ComboboxItem key={each.value} value={each.value} setValueOnClick={false} hideOnClick={false} focusOnHover onClick={() => props.onChoose(each.value)}>
                <span className="tool">{told(each.label)}</span> {each.note && <span className="hint">{told(each.note)}</span>}
              </ComboboxItem>
            ))}
          </ComboboxList>
          {found.length === 0 && <p className="hint">{props.none}</p>}
        </>
      )}
    </Dialog>
  );
}

/** Which type of node is added. */
export function AddNode({ isInside, onChoose, onClose }: { isInside: boolean; onChoose: (type: string) => void; onClose: () => void }) {
  const say = useText(TEXTS);
  const types = Object.keys(NODE_TYPES).filter((name) => isInside || (name !== "break" && name !== "continue"));
  return (
    <Choose
      title={say("addNode")}
      search={say("searchNodes")}
      none={say("noTypes")}
      options={types.map((value) => ({ value, label: value, note: say(`about_${value}` as "about_tool") }))}
      onChoose={onChoose}
      onClose={onClose}
    />
  );
}
