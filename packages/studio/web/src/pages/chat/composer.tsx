// Where a message is written. Enter sends, and does not send while a word is being composed.
import { useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from "react";

import { ask, once } from "../../core/api";
import { useText } from "../../core/language";
import { Failure } from "../../parts/failure";
import { TEXTS } from "./texts";

/** What a server takes at first: the body of a request has 4 MB, in Base64 a file grows by a third. */
const MOST_BYTES = 2_900_000;

interface Begun {
  id: string;
  session: string;
}

export function Composer(props: {
  agent: string;
  session: string;
  running: string;
  text: string;
  onText: (text: string) => void;
  onSent: (session: string) => void;
}) {
  const say = useText(TEXTS);
  const [files, setFiles] = useState<File[]>([]);
  const [error, setError] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const pending = useRef<{ of: string; key: string }>({ of: "", key: "" });

  async function sendIt() {
    const question = props.text.trim();
    if ((!question && !files.length) || isSending) return;
    setSending(true);
    setError(undefined);
    try {
      const session = props.session || once();
      const attachments = await Promise.all(files.map(attached));
      const body = { agent: props.agent, question, session, ...(attachments.length ? { attachments } : {}) };
      // The same message sent again, since its answer was lost, starts nothing a second time.
      const of = `${props.agent} ${props.session} ${question} ${files.map((each) => each.name).join(" ")}`;
      if (pending.current.of !== of) pending.current = { of, key: once() };
      const begun = await ask<Begun>("POST", "/v1/runs", { body, once: pending.current.key });
      pending.current = { of: "", key: "" };
      props.onText("");
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
    if (all.reduce((sum, each) => sum + each.size, 0) > MOST_BYTES) setError(new Error(say("tooLarge")));
    else setFiles(all);
  }

  function press(event: KeyboardEvent) {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void sendIt();
  }

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void sendIt();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event: DragEvent) => {
        event.preventDefault();
        take(event.dataTransfer.files);
      }}
    >
      <label>
        {say("message")}
        <textarea
          rows={3}
          value={props.text}
          onChange={(event) => props.onText(event.target.value)}
          onKeyDown={press}
          onPaste={(event: ClipboardEvent) => event.clipboardData.files.length && take(event.clipboardData.files)}
        />
      </label>
      {files.length > 0 && (
        <ul>
          {files.map((file, place) => (
            <li key={place}>
              {file.name}{" "}
              <button type="button" aria-label={say("remove", { name: file.name })} onClick={() => setFiles(files.filter((each) => each !== file))}>
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
        <button type="button" onClick={() => picker.current?.click()}>
          {say("attach")}
        </button>
        <input ref={picker} type="file" multiple hidden onChange={(event) => take(event.target.files ?? [])} />
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
