// Who is signed in. The browser sends a cookie by itself; the token here is the other half, and either alone is nothing.

const PLACE = "actum.session";

export function token(): string {
  return localStorage.getItem(PLACE) ?? "";
}

export function keepToken(text: string): void {
  if (text) localStorage.setItem(PLACE, text);
  else localStorage.removeItem(PLACE);
}

/** The code of `actum studio`, taken out of the address before anybody can copy it. */
export function takeCode(): string {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}
