// Where a message is written. Enter sends, and does not send while a word is being composed.
import { useEffect, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from "react";

import { ask, once } from "../../core/api";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import { Failure } from "../../parts/failure";
import { TEXTS } from "./texts";

/** What a server takes. */
const MOST_BYTES = 20 * 1024 * 1024;

interface Begun {
  id: string;
  session: string;
}

/** What is being written. `branch`: the run whose question it takes the place of, in a conversation that branches off. */
export interface Draft {
  text: string;
  branch: string;
}

export function Composer(props: {
  agent: string;
  session: string;
  running: string;
  draft: Draft;
  onDraft: (draft: Draft) => void;
  onSent: (session: string) => void;
}) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const { draft } = props;
  const [files, setFiles] = useState<File[]>([]);
  const [error, setError] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const [isOver, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const message = useRef<HTMLTextAreaElement>(null);
  const pending = useRef<{ of: string; key: string }>({ of: "", key: "" });

  useEffect(() => {
    if (draft.branch) message.current?.focus();
  }, [draft.branch]);

  async function begin(question: string): Promise<Begun> {
    // The same message sent again, since its answer was lost, starts nothing a second time.
    const of = JSON.stringify([props.agent, props.session, draft.branch, question, files.map((each) => each.name)]);
    if (pending.current.of !== of) pending.current = { of, key: once() };
    const { key } = pending.current;
    if (draft.branch) {
      const body = { at: 0, question, session: key };
      return ask<Begun>("POST", `/v1/runs/${encodeURIComponent(draft.branch)}/fork`, { body, once: key });
    }
    const attachments = await Promise.all(files.map(attached));
    const body = { agent: props.agent, question, session: props.session || key };
    return ask<Begun>("POST", "/v1/runs", { body: attachments.length ? { ...body, attachments } : body, once: key });
  }

  async function sendIt() {
    const question = draft.text.trim() || files.map((each) => each.name).join(", ");
    if (!question || isSending) return;
    setSending(true);
    setError(undefined);
    try {
      const begun = await begin(question);
      pending.current = { of: "", key: "" };
      props.onDraft({ text: "", branch: "" });
      setFiles([]);
      props.onSent(begun.session);
    } catch (failed) {
      setError(failed);
    } finally {
      setSending(false);
    }
  }

  function take(more: Iterable<File>) {
    const all = [...files, ...more];
    const isTooMuch = all.reduce((sum, each) => sum + each.size, 0) > MOST_BYTES;
    setError(isTooMuch ? new Error(say("tooLarge")) : undefined);
    if (!isTooMuch) setFiles(all);
  }

  function press(event: KeyboardEvent) {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void sendIt();
  }

  return (
    <form
      className="composer"
      data-over={isOver}
      onSubmit={(event) => {
        event.preventDefault();
        void sendIt();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event: DragEvent) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer.files);
      }}
    >
      {draft.branch && (
        <p className="hint">
          {say("branching")}{" "}
          <button type="button" className="quiet" onClick={() => props.onDraft({ text: "", branch: "" })}>
            {common("cancel")}
          </button>
        </p>
      )}
      <label>
        <span className="hint">{say("message")}</span>
        <textarea
          ref={message}
          rows={2}
          placeholder={say("placeholder")}
          value={draft.text}
          onChange={(event) => props.onDraft({ ...draft, text: event.target.value })}
          onKeyDown={press}
          onPaste={(event: ClipboardEvent) => event.clipboardData.files.length && take(event.clipboardData.files)}
        />
      </label>
      {files.length > 0 && (
        <ul className="files">
          {files.map((file, place) => (
            <li key={place}>
              {told(file.name)}{" "}
              <button
                type="button"
                className="quiet"
                aria-label={say("remove", { name: told(file.name) })}
                onClick={() => setFiles(files.filter((each) => each !== file))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="buttons">
        <button type="submit" className="primary" disabled={isSending}>
          {say("send")}
        </button>
        {props.running && (
          <button type="button" onClick={() => void ask("POST", `/v1/runs/${props.running}/cancel`).catch(setError)}>
            {say("stop")}
          </button>
        )}
        {!draft.branch && (
          <button type="button" onClick={() => picker.current?.click()}>
            {say("attach")}
          </button>
        )}
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            take(event.target.files ?? []);
            event.target.value = ""; // the same file may be chosen again
          }}
        />
      </div>
      {error ? <Failure error={error} /> : null}
    </form>
  );
}

async function attached(file: File): Promise<{ name: string; media_type: string; data: string }> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return { name: file.name, media_type: file.type || "application/octet-stream", data: btoa(text) };
}
