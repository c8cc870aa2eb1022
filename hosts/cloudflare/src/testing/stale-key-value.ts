/** Workers KV at its worst: it shows the first it was told of a key, and has heard of nothing since. */
const values = new Map<string, string>();

export default {
  async fetch(request: Request): Promise<Response> {
    const key = decodeURIComponent(new URL(request.url).pathname.slice(1));
    if (request.method === "PUT" && !values.has(key)) values.set(key, await request.text());
    if (request.method !== "GET") return new Response(null);
    const value = values.get(key);
    return value === undefined ? new Response(null, { status: 404 }) : new Response(value);
  },
};
