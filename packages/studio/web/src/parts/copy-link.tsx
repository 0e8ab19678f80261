// The link to the chat with an agent, to be sent to somebody.
import { dictionary, useText } from "../core/language";
import { COMMON } from "../core/texts";
import { tell } from "./status";

const TEXTS = dictionary({ copyLink: "Copy link" }, { copyLink: "复制链接" });

export function CopyLink({ agent }: { agent: string }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  async function copy() {
    const link = `${location.origin}/studio/chat/${encodeURIComponent(agent)}`;
    try {
      await navigator.clipboard.writeText(link);
      tell(common("copied"));
    } catch {
      tell(link); // a page that is not served securely may not copy
    }
  }
  return (
    <button type="button" onClick={() => void copy()}>
      {say("copyLink")}
    </button>
  );
}
