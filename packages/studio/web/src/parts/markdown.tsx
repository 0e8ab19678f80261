// What a model says, as Markdown: no HTML, no picture of another host, and each link says where it leads.
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

import { useText } from "../core/language";
import { target, visible } from "../core/shown";
import { COMMON } from "../core/texts";

const PLUGINS = [remarkGfm];

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
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Link href={typeof src === "string" ? src : undefined}>{alt || src}</Link>,
};

export default function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={PLUGINS} components={PARTS} skipHtml urlTransform={(url) => url}>
        {visible(text)}
      </ReactMarkdown>
    </div>
  );
}
