import type { UpstreamResponse } from "../../environment.ts";
import type { Gateway } from "../../gateway.ts";
import type { Call } from "../call.ts";
import type { InferenceRequest } from "../request.ts";
import { eventTap } from "../stream/event-tap.ts";
import { audioTap } from "../stream/tap.ts";
import { makeAnswerWriter } from "./answer-format.ts";
import { answerHeaders, binaryType, mediaType } from "./answer-headers.ts";
import { sendAsItComes } from "./answer-relay.ts";
import { UnusableAnswer } from "./failure.ts";

/** Sends a stream of events or of audio. Throws `UnusableAnswer` if the answer is neither. */
export function answerStream(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  response: UpstreamResponse,
): Response {
  const type = mediaType(response.header("content-type"));
  const { stream } = call.order;
  const contentType = stream ? type : binaryType(type);
  const isExpected = stream ? type === "text/event-stream" : type.startsWith("audio/");
  if (!isExpected || contentType === null) throw new UnusableAnswer("has an unexpected content type");
  return sendAsItComes(gateway, call, request, {
    tap: stream
      ? eventTap(call.order, gateway.secrets(call.upstreamKey), makeAnswerWriter(gateway, call, request), (cost) =>
          call.signReceipt(cost),
        )
      : audioTap(),
    headers: { ...answerHeaders(request, call.order, contentType), "x-accel-buffering": "no" },
    held: gateway.answerMemory.open(request.credential.partition),
    body: response.body,
    begun: { passed: [], receivedBytes: 0, isCheckpointed: false },
  });
}
