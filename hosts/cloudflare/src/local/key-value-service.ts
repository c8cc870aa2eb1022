/** A KV service in memory, because workerd has none. */
const values = new Map<string, string>();

export default {
  async fetch(request: Request): Promise<Response> {
    const key = decodeURIComponent(new URL(request.url).pathname.slice(1));
    if (request.method === "PUT") values.set(key, await request.text());
    else if (request.method === "DELETE") values.delete(key);
    else {
      const value = values.get(key);
      return value === undefined ? new Response(null, { status: 404 }) : new Response(value);
    }
    return new Response(null);
  },
};
