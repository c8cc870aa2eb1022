import { type ChatJob, costField, overloadedJson, reportedUsage, toolCallStart } from "./chat-plan.ts";
import { deliver, deliverEndless } from "./deliver.ts";
import { INFERENCE_FAILED } from "./errors.ts";
import { providerHeaders, sendAnswer, sendText } from "./exchange.ts";
import { bill, billAborted } from "./job.ts";
import { tokensText } from "./tokens.ts";
import { PARAMETERS_FIELD } from "./wire.ts";

/** Sends the answer in one piece, unless its shape cuts, holds or drips it. */
export async function answerWhole(job: ChatJob): Promise<void> {
  const { x, shape, fault } = job;
  if (shape.errorEvent && shape.tokens === "half" && !shape.resumeAfterError) {
    bill(job, 0);
    return sendAnswer(x, INFERENCE_FAILED);
  }
  const headers = providerHeaders(x, "application/json; charset=utf-8", job.model);
  if (shape.tokens === "endless") {
    await deliverEndless(x, headers);
    billAborted(job, 0);
    return;
  }
  const billed = bill(job, shape.tokens === "none" && shape.usage === "none" ? 0 : job.units);
  const usage = fault === "usage-null-everywhere" ? "null" : reportedUsage(job);
  const fields = shape.usage === "none" ? "" : `,"usage":${usage}${costField(billed)}`;
  if (shape.tokens === "none") {
    return sendText(x, 200, headers, overloadedJson(fields === "" ? "" : `,"id":"${job.requestId}"${fields}`));
  }
  const body = `{"id":"${job.requestId}","object":"chat.completion","created":${job.createdSeconds},"model":"${job.model.id}","choices":[${choices(job)}]${fields}${parametersField(job)}}`;
  x.record.unitsSent = job.units;
  await deliver(x, headers, body, shape);
}

function choices(job: ChatJob): string {
  const parts: string[] = [];
  for (let index = 0; index < job.request.n; index++) {
    parts.push(
      `{"index":${index},"finish_reason":"${job.finish}","stop_reason":null,"logprobs":null,"message":${message(job, index)}}`,
    );
  }
  return parts.join(",");
}

function message(job: ChatJob, choice: number): string {
  if (job.scripted !== null) return job.scripted.message;
  const place = { text: job.text, start: job.start, choice };
  const said = tokensText(place, job.reasoning, job.perChoice);
  const thought = job.reasoning === 0 ? "null" : JSON.stringify(tokensText(place, 0, job.reasoning));
  const called = job.finish === "tool_calls";
  const content = called ? "null" : JSON.stringify(said);
  const calls = called
    ? `,"tool_calls":[{${toolCallStart(job, choice)}${JSON.stringify(JSON.stringify({ text: said }))}}}]`
    : "";
  return `{"role":"assistant","content":${content},"reasoning_content":${thought}${calls}}`;
}

function parametersField(job: ChatJob): string {
  const { parameters } = job.request;
  return Object.keys(parameters).length === 0 ? "" : `,"${PARAMETERS_FIELD}":${JSON.stringify(parameters)}`;
}
