// What a page shows in place of what it could not get: a sentence, the next step, and where the log has the cause.
import type { ReactNode } from "react";

import { isProblem, Problem } from "../core/api";
import { useText } from "../core/language";
import { COMMON } from "../core/texts";

/** Says why something failed, and what to do. */
export function useReason(): (error: unknown) => string {
  const say = useText(COMMON);
  return (error) => {
    const scopes = error instanceof Problem && error.status === 403 ? error.body["scope"] : undefined;
    if (Array.isArray(scopes) && scopes.length) return say("forbidden", { scope: scopes.join(", ") });
    if (isProblem(error, "offline")) return say("unanswered");
    return error instanceof Error ? error.message : String(error);
  };
}

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const say = useText(COMMON);
  const text = useReason()(error);
  const reference = error instanceof Problem ? error.reference : "";
  return (
    <div role="alert" className="failure">
      <p>{text}</p>
      {reference && <p className="hint">{say("reference", { reference })}</p>}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {say("retry")}
        </button>
      )}
    </div>
  );
}

/** A list or a value that is asked for: while it loads, where it failed, where it is empty, and what came. */
export function Asked<T>(props: {
  query: { data: T | undefined; error: unknown; refetch(): unknown };
  empty?: (data: T) => ReactNode | undefined;
  children: (data: T) => ReactNode;
}) {
  const say = useText(COMMON);
  const { data, error, refetch } = props.query;
  if (data === undefined) {
    return error ? <Failure error={error} onRetry={() => void refetch()} /> : <p className="hint">{say("loading")}</p>;
  }
  return (
    <>
      {error ? <Failure error={error} onRetry={() => void refetch()} /> : null}
      {props.empty?.(data) ?? props.children(data)}
    </>
  );
}
