import { usePathname, useSearch } from "wouter/use-browser-location";

/** The parsed address: `/models/maker/name?x=1` has the place `models`, the rest `maker/name`, and a query. */
type Route = { place: string; rest: string; query: URLSearchParams };

export function useRoute(): Route {
  return routeOf(usePathname(), useSearch());
}

export function routeOf(path: string, search: string): Route {
  const [, place = "", ...rest] = path.split("/");
  return { place, rest: rest.map(decoded).join("/"), query: new URLSearchParams(search) };
}

/** The path of a page: `pathTo("models", "maker/name")`. Slashes of an id stay. */
export function pathTo(place: string, rest = "", query: Readonly<Record<string, string>> = {}): string {
  const path = [place, ...(rest === "" ? [] : rest.split("/"))].map(encodeURIComponent).join("/");
  const search = new URLSearchParams(query).toString();
  return `/${path}${search === "" ? "" : `?${search}`}`;
}

const RENAMED: ReadonlyMap<string, string> = new Map([
  ["dollars", "funds"],
  ["spending", "activity"],
  ["receipt", "activity"],
]);

/** The new address of an old link, such as `/#/receipt/abc`; null: it is not an old link. `search` is the page's. */
export function pathOfOldLink(hash: string, search: string): string | null {
  if (!hash.startsWith("#/")) return null;
  // Two slashes would begin the address of another host.
  const [path = "", query = ""] = hash.replace(/^#[/\\]+/, "").split("?", 2);
  const [place = "", ...rest] = path.split("/");
  const kept = [search.replace(/^\?/, ""), query].filter((part) => part !== "").join("&");
  return `/${[RENAMED.get(place) ?? place, ...rest].join("/")}${kept === "" ? "" : `?${kept}`}`;
}

/** Sends old links to their new address: at the start, and when somebody enters one. */
export function followOldLinks(): void {
  const follow = (): void => {
    const path = pathOfOldLink(location.hash, location.search);
    if (path !== null) history.replaceState(null, "", path);
  };
  follow();
  addEventListener("hashchange", follow);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
