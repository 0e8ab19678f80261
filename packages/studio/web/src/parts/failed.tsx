// Why a call has no result: in the language of the page, and as the model was told, whose words are in English.
import { useEnded } from "../core/ended";
import { dictionary, useText } from "../core/language";
import type { CallFailure } from "../core/types";
import { Value } from "./values";

const TEXTS = dictionary(
  { error: "Error: {kind}", told: "What the model was told" },
  { error: "错误：{kind}", told: "模型得到的说明" },
);

/** Of these kinds, the message is of a person or of the tool. */
const OWN_WORDS = ["tool_error", "approval_denied"];

export function Failed({ error }: { error: Pick<CallFailure, "code" | "message"> }) {
  const say = useText(TEXTS);
  const ended = useEnded();
  return (
    <details open>
      <summary>{say("error", { kind: ended(error.code) })}</summary>
      {!OWN_WORDS.includes(error.code) && <p className="hint">{say("told")}</p>}
      <Value value={error.message} />
    </details>
  );
}
