import { answerWhole } from "./chat-buffered.ts";
import { planChat } from "./chat-plan.ts";
import { readChatRequest } from "./chat-request.ts";
import { streamChat } from "./chat-stream.ts";
import { runEarlyFault } from "./early-faults.ts";
import { type Exchange, sleep, waitAt } from "./exchange.ts";
import { billAborted, billStopped } from "./job.ts";
import { markerNumber } from "./markers.ts";
import type { Body } from "./validate.ts";

/** `POST /chat/completions`. */
export async function chatCompletions(x: Exchange, body: Body): Promise<void> {
  const request = readChatRequest(body, x.sim.catalogue, x.sim.settings.hiddenPromptTokens);
  x.record.model = request.model.id;
  x.record.stream = request.stream;
  const job = planChat(x, request);
  x.record.requestId = job.requestId;
  x.record.servedModel = job.model.id;

  const gate = request.markers.get("gate");
  const waited =
    gate === undefined
      ? await sleep(x, markerNumber(request.markers, "delay") ?? x.sim.settings.delayMs)
      : await waitAt(x, x.sim.gate(gate).promise);
  if (!waited) billAborted(job, 0);
  else if (await runEarlyFault(x, job.fault)) billStopped(job, 0);
  else if (request.stream) await streamChat(job);
  else await answerWhole(job);
}
