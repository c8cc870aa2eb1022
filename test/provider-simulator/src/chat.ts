import { answerWhole } from "./chat-buffered.ts";
import { planChat } from "./chat-plan.ts";
import { readChatRequest } from "./chat-request.ts";
import { streamChat } from "./chat-stream.ts";
import type { Exchange } from "./exchange.ts";
import { modelOf, run } from "./job.ts";
import type { Body } from "./validate.ts";

/** `POST /chat/completions`. */
export async function chatCompletions(x: Exchange, body: Body): Promise<void> {
  const request = readChatRequest(body, () => modelOf(x, body, "text"));
  x.record.stream = request.stream;
  const job = planChat(x, request);
  await run(job, () => (request.stream ? streamChat(job) : answerWhole(job)));
}
