import { useSyncExternalStore } from "react";

/** The parsed address: `#/receipt/abc?x=1` has the place `receipt`, the rest `abc`, and a query. */
export type Route = { place: string; rest: string; query: URLSearchParams };

export function useRoute(): Route {
  return routeOf(useSyncExternalStore(onChange, () => location.hash));
}

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [place = "", ...rest] = path.split("/");
  return { place, rest: decoded(rest.join("/")), query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function onChange(changed: () => void): () => void {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}
