import type { KeyTermTexts } from "@inference/protocol/key-message";

/** All terms, or the types fail. */
const TERMS: Readonly<Record<keyof KeyTermTexts, true>> = {
  ...{ name: true, limit: true, limit_daily: true, limit_monthly: true, limit_lifetime: true, limit_reset: true },
  ...{ requests_per_minute: true, tokens_per_minute: true, models: true, private: true, expires_at: true },
};

/** A program's request for a key; null: it does not listen on this computer, or has no state. */
export function readLogin(query: URLSearchParams): { callback: string; state: string; terms: KeyTermTexts } | null {
  const [callback, state] = [query.get("callback") ?? "", query.get("state") ?? ""];
  if (!/^http:\/\/127\.0\.0\.1:\d{1,5}\/$/.test(callback) || !URL.canParse(callback) || state === "") return null;
  // In the order of the address: the program compares the text.
  const terms = Object.fromEntries([...query].filter(([name]) => Object.hasOwn(TERMS, name)));
  return { callback, state, terms };
}

/** The code for the program: the signed message, and the login's state. */
export function codeOf(signed: { state: string; message: string; signature: string }): string {
  const bytes = new TextEncoder().encode(JSON.stringify(signed));
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}
