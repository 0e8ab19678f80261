// Where a message is written. Enter sends, and does not send while a word is being composed.
import { useEffect, useRef, useState, type ClipboardEvent, type Dispatch, type DragEvent, type KeyboardEvent, type SetStateAction } from "react";

import { ask, isLost } from "../core/api";
import { base64Of } from "../core/file";
import { dictionary, useText } from "../core/language";
import { told } from "../core/shown";
import { COMMON } from "../core/texts";
import { Failure } from "./failure";
import { useIsHere, useOnce } from "./press";

const TEXTS = dictionary(
  {
    message: "Message",
    send: "Send",
    stop: "Stop",
    attach: "Attach",
    remove: "Remove {name}",
    tooLarge: "The files are larger than 20 MB together.",
    placeholder: "Ask something, or drop a file here",
    ask: "Ask something",
    branching: "Your message takes the place of the earlier one, in a new conversation that branches off. Its files stay.",
  },
  {
    message: "消息",
    send: "发送",
    stop: "停止",
    attach: "附件",
    remove: "移除 {name}",
    tooLarge: "文件总大小超过 20 MB。",
    placeholder: "输入问题，或把文件拖到这里",
    ask: "输入问题",
    branching: "您的消息将代替之前的那条，并在一个新的分支对话中继续。附件保留。",
  },
);

/** What a server takes. */
const MOST_BYTES = 20 * 1024 * 1024;

export interface Begun {
  id: string;
  session: string;
}

/** A file as a request carries it. */
export interface Attachment {
  name: string;
  media_type: string;
  data: string;
}

/** What is being written. `branch`: the run whose question it takes the place of, in a conversation that branches off. */
export interface Draft {
  text: string;
  branch: string;
}

export function Composer(props: {
  /** Whom the message goes to: sent again to the same one, it starts nothing a second time. */
  to: string;
  begin: (question: string, key: string, attachments: Attachment[]) => Promise<Begun>;
  running: string;
  draft: Draft;
  takesFiles?: boolean;
  isReady?: boolean;
  onDraft: Dispatch<SetStateAction<Draft>>;
  /** Not called where its person has gone on meanwhile. */
  onSent: (begun: Begun) => void;
}) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const { draft, takesFiles = true, isReady = true } = props;
  const [files, setFiles] = useState<File[]>([]);
  const [error, setError] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const [isOver, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const message = useRef<HTMLTextAreaElement>(null);
  const { keyOf, done } = useOnce();
  const isUnder = useRef(false);
  const isHere = useIsHere();

  useEffect(() => {
    if (draft.branch) message.current?.focus();
  }, [draft.branch]);

  async function begin(question: string, key: string): Promise<Begun> {
    if (draft.branch) {
      const body = { at: 0, question, session: key };
      return ask<Begun>("POST", `/v1/runs/${encodeURIComponent(draft.branch)}/fork`, { body, once: key });
    }
    return props.begin(question, key, await Promise.all(files.map(attached)));
  }

  async function sendIt() {
    const question = draft.text.trim() || files.map((each) => each.name).join(", ");
    if (!question || isUnder.current || !isReady) return;
    isUnder.current = true;
    const sent = [props.to, draft.branch, question, files.map((each) => each.name)];
    setSending(true);
    setError(undefined);
    try {
      const begun = await begin(question, keyOf(sent));
      done(sent);
      props.onDraft((now) => behind(draft, now));
      setFiles((now) => now.filter((each) => !files.includes(each)));
      if (isHere.current) props.onSent(begun);
    } catch (failed) {
      if (!isLost(failed)) done(sent);
      setError(failed);
    } finally {
      isUnder.current = false;
      setSending(false);
    }
  }

  function take(more: Iterable<File>) {
    if (!takesFiles) return;
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
          placeholder={say(takesFiles ? "placeholder" : "ask")}
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
        <button type="submit" className="primary" aria-disabled={isSending || !isReady}>
          {say("send")}
        </button>
        {props.running && (
          <button type="button" onClick={() => void ask("POST", `/v1/runs/${props.running}/cancel`).catch(setError)}>
            {say("stop")}
          </button>
        )}
        {takesFiles && !draft.branch && (
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

/** What is left to write when a message was sent: what was typed behind it meanwhile, or in its place. */
function behind(sent: Draft, now: Draft): Draft {
  if (now.branch !== sent.branch) return now;
  return { text: now.text.startsWith(sent.text) ? now.text.slice(sent.text.length).trimStart() : now.text, branch: "" };
}

async function attached(file: File): Promise<Attachment> {
  return { name: file.name, media_type: file.type || "application/octet-stream", data: await base64Of(file) };
}
