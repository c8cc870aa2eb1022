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

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
