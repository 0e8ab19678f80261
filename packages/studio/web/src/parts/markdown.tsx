// What a model says, as Markdown: no HTML, no picture of another host, each link says where it leads, and `[1]` is a
// reference.
import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

import { citedIn } from "../core/cited";
import { useText } from "../core/language";
import { target, visible } from "../core/shown";
import { COMMON } from "../core/texts";
import { Reference } from "./reference";

const PLUGINS = [remarkGfm, remarkCited];

interface Node {
  type: string;
  value?: string;
  label?: string | null;
  children?: Node[];
  data?: object;
}

/** Marks what may be a reference. A definition of a link in the text can not take the place of a reference that there is. */
function remarkCited() {
  const cited = (number: number, instead: Node): Node => ({
    type: "cited",
    children: [instead],
    data: { hName: "cite", hProperties: { id: String(number) } },
  });
  const piece = (each: string | number): Node =>
    typeof each === "string" ? { type: "text", value: each } : cited(each, { type: "text", value: each ? `[${each}]` : "[?]" });
  const walk = (node: Node): void => {
    node.children = node.children?.flatMap((each) => {
      if (each.type === "text") return citedIn(each.value ?? "").map(piece);
      const [number] = each.type === "linkReference" ? citedIn(`[${each.label ?? ""}]`) : [];
      if (typeof number === "number" && number > 0) return [cited(number, each)];
      walk(each);
      return [each];
    }) as Node[];
  };
  return walk;
}

function Link({ href, children }: { href?: string | undefined; children?: React.ReactNode }) {
  const say = useText(COMMON);
  const found = target(href);
  if (!found) return <span>{children}</span>;
  const host = found.host || found.pathname;
  return (
    <>
      <a href={found.href} target="_blank" rel="noopener noreferrer" title={say("host", { host })}>
        {children}
      </a>
      <span className="host"> ({host})</span>
    </>
  );
}

const PARTS: Components = {
  cite: ({ id, children }) => <Reference number={Number(id)}>{children}</Reference>,
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Link href={typeof src === "string" ? src : undefined}>{alt || src}</Link>,
};

/** It is read once, not with each key of a message below. */
export default memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={PLUGINS} components={PARTS} skipHtml urlTransform={(url) => url}>
        {visible(text)}
      </ReactMarkdown>
    </div>
  );
});
