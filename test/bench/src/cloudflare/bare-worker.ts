/** The Worker that does nothing: passes a request on, and its answer back. Everything else is divided by it. */
export default {
  fetch(request: Request, { UPSTREAM }: { UPSTREAM: string }): Promise<Response> {
    return fetch(new Request(UPSTREAM + new URL(request.url).pathname, request));
  },
};
