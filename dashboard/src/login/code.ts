import type { KeyTermTexts } from "@inference/protocol/key-message";

const TERMS: readonly string[] = ["name", "limit", "limit_reset", "expires_at"] satisfies (keyof KeyTermTexts)[];

/** What a program asks for; null unless it listens on this computer, and waits for this very answer. */
export function readLogin(query: URLSearchParams): { callback: string; state: string; terms: KeyTermTexts } | null {
  const [callback, state] = [query.get("callback") ?? "", query.get("state") ?? ""];
  if (!/^http:\/\/127\.0\.0\.1:\d{1,5}\/$/.test(callback) || !URL.canParse(callback) || state === "") return null;
  // In the order of the address: the program compares the text.
  const terms = Object.fromEntries([...query].filter(([name]) => TERMS.includes(name)));
  return { callback, state, terms };
}

/** What the program is handed: the signed message, and whose answer it is. */
export function codeOf(signed: { state: string; message: string; signature: string }): string {
  const bytes = new TextEncoder().encode(JSON.stringify(signed));
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}
