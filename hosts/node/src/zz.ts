import { startStack } from "./testing/stack.ts";
const kind = process.argv[2];
const s = await startStack();
const a = await s.account(1_000_000_000_000);
const body = (stream: boolean, c: string) => ({model:"sim-small", messages:[{role:"user",content:c}], max_tokens: 100, stream});
if (kind === "headers") await s.call("/v1/chat/completions", {key: a.key, body: body(true, "[[delay=120]]"), signal: AbortSignal.timeout(30)}).catch(e => console.log(String(e)));
else if (kind === "buffered") await s.call("/v1/chat/completions", {key: a.key, body: body(false, "[[delay=120]]"), signal: AbortSignal.timeout(30)}).catch(e => console.log(String(e)));
else { const ac = new AbortController(); const r = await s.call("/v1/chat/completions", {key: a.key, body: body(true, "[[drip=3]]"), signal: ac.signal}); const rd = r.body!.getReader(); let t=""; while(!t.includes(kind === "done" ? "data: [DONE]\n" : "content\":\" ")) t += new TextDecoder().decode((await rd.read()).value); ac.abort(); }
await new Promise(r => setTimeout(r, 300));
const t0 = performance.now();
await s.stop();
console.log(kind, performance.now() - t0);
