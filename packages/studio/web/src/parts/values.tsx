// Values of strangers, shown as text and as nothing else.
import { useText } from "../core/language";
import { COMMON, stateKey, type State } from "../core/texts";
import { cut, told } from "../core/shown";
import type { Origin } from "../core/types";

export function StateText({ state }: { state: State }) {
  return (
    <span className="state" data-state={state}>
      {useText(COMMON)(stateKey(state))}
    </span>
  );
}

/** A JSON value or a text, at most its beginning. */
export function Value({ value }: { value: unknown }) {
  const say = useText(COMMON);
  const { text, left } = cut(told(value));
  return (
    <pre className="value" tabIndex={isLong(text) ? 0 : undefined}>
      {text}
      {left > 0 && <span className="hint">{`\n${say("cut", { left })}`}</span>}
    </pre>
  );
}

/** Whether a value is scrolled where it stands: then keys have to reach it, too. */
function isLong(text: string): boolean {
  return text.length > 600 || text.split("\n", 13).length > 12;
}

const TRUSTED: readonly Origin["source"][] = ["user", "developer"];

/** The arguments of a call, each with where its parts come from. */
export function Arguments({ values, origins = {} }: { values: Record<string, unknown>; origins?: Record<string, Origin[]> }) {
  return (
    <dl className="arguments">
      {Object.entries(values).map(([name, value]) => (
        <div key={name}>
          <dt>{told(name)}</dt>
          <dd>
            <Value value={value} />
            <Origins origins={(Object.hasOwn(origins, name) && origins[name]) || []} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Origins({ origins }: { origins: Origin[] }) {
  const say = useText(COMMON);
  if (!origins.length) return null;
  return (
    <ul className="origins">
      {origins.map((each, place) => {
        const isTrusted = each.trusted || TRUSTED.includes(each.source);
        return (
          <li key={place} data-trusted={isTrusted}>
            {say(`origin_${each.source}`, { tool: told(each.tool ?? "") })}
            {!isTrusted && ` (${say("untrusted")})`}
          </li>
        );
      })}
    </ul>
  );
}
