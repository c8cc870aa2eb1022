/** The least that a Worker can do which looks at what it passes on: each chunk comes into JavaScript and goes again. */
export default {
  async fetch(request: Request, { UPSTREAM }: { UPSTREAM: string }): Promise<Response> {
    const response = await fetch(new Request(UPSTREAM + new URL(request.url).pathname, request));
    const chunks = response.body?.getReader();
    const passed = new ReadableStream<Uint8Array>({
      async pull(out) {
        const { done = true, value } = (await chunks?.read()) ?? {};
        if (done || value === undefined) out.close();
        else out.enqueue(value);
      },
    });
    return new Response(passed, response);
  },
};
