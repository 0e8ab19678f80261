// Coming in: with the code of `actum studio`, with a key, or by the operator's OpenID provider.
import { useEffect, useRef, useState, type FormEvent } from "react";

import { ask, isProblem } from "../core/api";
import { useText } from "../core/language";
import { keepToken, takeFromAddress } from "../core/session";
import { COMMON } from "../core/texts";
import type { SessionBegun } from "../core/types";
import { Failure } from "./failure";

const brought = takeFromAddress();

export function SignIn({ providers, onSignedIn }: { providers: { name: string; url: string }[]; onSignedIn: () => void }) {
  const say = useText(COMMON);
  const [key, setKey] = useState("");
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(Boolean(brought.code));
  const isTried = useRef(false);

  async function begin(body: { key: string } | { code: string }) {
    setBusy(true);
    setError(undefined);
    try {
      keepToken((await ask<SessionBegun>("POST", "/v1/session", { body })).session);
      onSignedIn();
    } catch (failed) {
      setError(isProblem(failed, 401) ? new Error(say("code" in body ? "badCode" : "badKey")) : failed);
    } finally {
      setBusy(false);
    }
  }

  useEffect(() => {
    if (isTried.current) return;
    isTried.current = true;
    if (brought.code) void begin({ code: brought.code });
    else if (brought.session) {
      keepToken(brought.session); // the server says whether it fits the cookie; it is tried once
      brought.session = "";
      onSignedIn();
    }
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    void begin({ key });
  }

  return (
    <main className="sign-in card">
      <h1 className="brand">actum</h1>
      {error ? <Failure error={error} /> : null}
      <form onSubmit={submit}>
        <label>
          {say("key")}
          <input type="password" role="textbox" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
        </label>
        <div className="buttons">
          <button type="submit" className="primary" disabled={isBusy || !key}>
            {say("signIn")}
          </button>
          {providers.map((each) => (
            <a key={each.url} className="button" role="button" href={each.url}>
              {say("signInWith", { name: each.name })}
            </a>
          ))}
        </div>
      </form>
      <p className="hint">{say("howIn")}</p>
    </main>
  );
}
