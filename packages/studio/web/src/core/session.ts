// Who is signed in. The browser sends a cookie by itself; the token here is the other half, and either alone is nothing.

const PLACE = "actum.session";

export function token(): string {
  return localStorage.getItem(PLACE) ?? "";
}

export function keepToken(text: string): void {
  if (text) localStorage.setItem(PLACE, text);
  else localStorage.removeItem(PLACE);
}

/** What an address brings to sign in with: the code of `actum studio`, or the text of a session that a log-in began. It is
 * taken out of the address before anybody can copy it. */
export function takeFromAddress(): { code: string; session: string } {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = { code: given.get("code") ?? "", session: given.get("session") ?? "" };
  if (found.code || found.session) history.replaceState(null, "", location.pathname + location.search);
  return found;
}

/** Hears when another tab of this browser signs in or out; answers how to stop. */
export function onToken(hear: () => void): () => void {
  const changed = (event: StorageEvent) => (event.key === PLACE || event.key === null) && hear();
  addEventListener("storage", changed);
  return () => removeEventListener("storage", changed);
}
