/** A KV service in memory, because workerd has none. */
const values = new Map<string, string>();

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const key = decodeURIComponent(pathname.slice(1));
    if (request.method === "PUT") values.set(key, await request.text());
    else if (request.method === "DELETE") values.delete(key);
    else if (key === "") return list(searchParams);
    else {
      const value = values.get(key);
      return value === undefined ? new Response(null, { status: 404 }) : new Response(value);
    }
    return new Response(null);
  },
};

/** As workerd asks a namespace for its keys. */
function list(query: URLSearchParams): Response {
  const prefix = query.get("prefix") ?? "";
  const found = [...values.keys()].filter((key) => key.startsWith(prefix)).sort();
  const keys = found.slice(0, Number(query.get("key_count_limit") ?? 1_000)).map((name) => ({ name }));
  return Response.json({ keys, list_complete: keys.length === found.length });
}
