// Loaded into Portkey before it starts. Its streams fail on Node as npm installs it ("TypeError: immutable",
// Portkey-AI/gateway issue 1389): it appends to the headers of fetch's own response, which the standard forbids. This
// hands it a response whose headers it may change; buffered answers, which work, are left as they are.

const { fetch, Response } = globalThis;

globalThis.fetch = async (...request: Parameters<typeof fetch>) => {
  const response = await fetch(...request);
  const streamed = response.headers.get("content-type")?.startsWith("text/event-stream");
  return streamed ? new Response(response.body, response) : response;
};
