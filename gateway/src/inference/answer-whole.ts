import { LedgerUnavailable } from "@inference/ledger/client";
import { GatewayError } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import type { Delivered } from "../metering/quote.ts";
import { nothingReported, parseUsage, type ReportedUsage, reportedOnce, type UsageReading } from "../metering/usage.ts";
import { jsonWithUsage, usageJson } from "../metering/usage-json.ts";
import { utf8Length } from "../metering/utf8-length.ts";
import { readBytes } from "../upstream/provider.ts";
import { scrub } from "../upstream/scrub.ts";
import { answerHeaders } from "./answer-headers.ts";
import { conclude, type Ending } from "./conclusion.ts";
import { durableOrLate, type Exchange, endExchange, keptId } from "./exchange.ts";
import { keepAnswer } from "./idempotency.ts";
import type { InferenceRequest } from "./inference.ts";

/**
 * An answer that comes whole: read, measured and settled, and only then sent. So a client that has an answer has its
 * charge in the ledger, durably. It goes on without its client, for the provider bills it all the same.
 */
export async function answerWhole(
  gateway: Gateway,
  exchange: Exchange,
  request: InferenceRequest,
  response: UpstreamResponse,
  deadline: { cancel(): void },
): Promise<Response> {
  try {
    const { blockedHeader } = gateway.config.upstream;
    const blocked = blockedHeader !== null && response.header(blockedHeader) === "true";
    const bytes = await readBytes(response.body, limits.answerBytes);
    const contentType = response.header("content-type") ?? "";
    const answer = contentType.startsWith("application/json")
      ? answerJson(gateway, exchange, request, bytes, blocked)
      : answerBinary(exchange, request, contentType, bytes, blocked);
    return await settleAndSend(gateway, exchange, request, answer);
  } finally {
    deadline.cancel();
  }
}

/** What was measured, and what is sent for it. */
type MeasuredAnswer = { ending: Ending; headers: Record<string, string>; body: string | Uint8Array };

function answerJson(
  gateway: Gateway,
  exchange: Exchange,
  request: InferenceRequest,
  bytes: Uint8Array,
  blocked: boolean,
): MeasuredAnswer {
  const answer = parseAnswer(bytes);
  if (answer === undefined) throw new UnusableAnswer("is not JSON");
  exchange.upstreamId = keptId(gateway, exchange, typeof answer.id === "string" ? answer.id : null);
  const usage = parseUsage(answer.usage, exchange.order.quote.bound);
  if (answer.error !== undefined && answer.error !== null) throw new UnusableAnswer("was an error", usage);
  if (isEmpty(request, answer, usage)) throw new UnusableAnswer("is empty", usage);
  const ending: Ending = blocked
    ? blockedEnding
    : {
        kind: "answer",
        ...reportedOnce(usage),
        delivered: deliveredIn(answer),
        complete: true,
        stream: false,
        clientGone: request.clientGone?.aborted ?? false,
      };
  checkModel(gateway, exchange, answer.model);
  const { chargeNanoUsd } = conclude(exchange.order.quote, ending);
  const { answerFields } = request.route;
  const shown: Record<string, unknown> = {};
  for (const field of answerFields) if (field !== "usage" && field in answer) shown[field] = answer[field];
  // Ours or none: what cannot be read here is nothing for a client to reckon with.
  const showsUsage = typeof usage === "object" && answerFields.includes("usage");
  const body = showsUsage ? jsonWithUsage(shown, usageJson(usage, chargeNanoUsd)) : JSON.stringify(shown);
  return { ending, headers: answerHeaders(request, exchange.order, "application/json"), body };
}

/** Nothing of what was asked for is in it. A chat may come to nothing and have used tokens all the same. */
function isEmpty({ route }: InferenceRequest, answer: Record<string, unknown>, usage: UsageReading): boolean {
  const content = route.content === null ? undefined : answer[route.content];
  if (Array.isArray(content) && content.length > 0) return false;
  return route.name !== "chat" || typeof usage !== "object";
}

function answerBinary(
  exchange: Exchange,
  request: InferenceRequest,
  contentType: string,
  bytes: Uint8Array,
  blocked: boolean,
): MeasuredAnswer {
  if (!/^(image|audio)\//.test(contentType) || exchange.order.quote.flatNanoUsd === null) {
    throw new UnusableAnswer("has an unexpected content type");
  }
  if (bytes.length === 0) throw new UnusableAnswer("is empty");
  const ending: Ending = blocked
    ? blockedEnding
    : {
        kind: "answer",
        ...nothingReported,
        delivered: { bytes: bytes.length, events: 1 },
        complete: true,
        stream: false,
        clientGone: false,
      };
  return { ending, headers: answerHeaders(request, exchange.order, contentType), body: bytes };
}

const blockedEnding: Ending = { kind: "nothing", why: "blocked by the provider", ...nothingReported };

/** An answer whose charge was lost with the ledger is not sent. */
async function settleAndSend(
  gateway: Gateway,
  exchange: Exchange,
  request: InferenceRequest,
  { ending, headers, body }: MeasuredAnswer,
): Promise<Response> {
  // Before it is settled: who asks again finds it served only when its answer is there.
  const mayBeAskedAgain = request.idempotencyKey !== null && ending.kind === "answer";
  if (mayBeAskedAgain) await keepAnswer(gateway, request, { headers, body });
  const { durable } = endExchange(gateway, exchange, ending);
  if (!(await durableOrLate(gateway, durable))) throw new LedgerUnavailable("the charge could not be written down");
  return new Response(body as BodyInit, { status: 200, headers });
}

/** Who asked for one model and is answered by another was charged the wrong prices. */
function checkModel(gateway: Gateway, { id, order, upstreamKey }: Exchange, answered: unknown): void {
  if (typeof answered !== "string" || answered === order.model.id) return;
  const { environment, config } = gateway;
  const said = scrub(answered, [config.upstream.apiKey, upstreamKey]);
  environment.log("alert", "other_model", { request: id, asked: order.model.id, answered: said });
}

const utf8 = new TextDecoder();

function parseAnswer(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(utf8.decode(bytes));
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The content of a whole chat answer, for one whose usage is unknown. Other answers are content from end to end. */
function deliveredIn(answer: Record<string, unknown>): Delivered {
  if (!Array.isArray(answer.choices)) return { bytes: 1, events: 1 };
  let bytes = 0;
  for (const choice of answer.choices as { message?: Record<string, unknown> }[]) {
    const { content, reasoning_content: reasoning, tool_calls: toolCalls } = choice?.message ?? {};
    for (const part of [content, reasoning]) if (typeof part === "string") bytes += utf8Length(part);
    if (Array.isArray(toolCalls)) bytes += utf8Length(JSON.stringify(toolCalls));
  }
  return { bytes, events: bytes === 0 ? 0 : 1 };
}

/** Nothing of it is for a client. What it says it used, the provider may bill all the same. */
export class UnusableAnswer extends GatewayError {
  readonly reported: ReportedUsage;
  constructor(what: string, usage: UsageReading = "missing") {
    super({ code: "upstream_error", message: `The provider's answer ${what}. Nothing was charged.` });
    this.reported = reportedOnce(usage);
  }
}
