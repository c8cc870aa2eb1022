import { UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import type { CallSpan, Trace, TraceContext } from "../tracing.ts";
import type { Ending } from "./charge/conclusion.ts";

/** The spans of a call's tries at the provider. Without tracing it only names the client's place in its trace. */
export class CallTrace {
  readonly #trace: Trace;
  /** The span of the try whose answer is read. */
  #open: CallSpan | null = null;
  #model: string | null = null;
  #ending: Ending | null = null;
  #isClosed = false;

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  /** Sends one try. The span of a try without an answer ends at once. */
  send(
    { path, model }: { path: string; model: string },
    send: (context: TraceContext | null) => Promise<UpstreamResponse>,
  ): Promise<UpstreamResponse> {
    const { parent, span } = this.#trace;
    if (span === null) return send(parent);
    return this.#traced(span.call({ operation: operations.get(path) ?? "generate_content", model }), send);
  }

  async #traced(call: CallSpan, send: (context: TraceContext) => Promise<UpstreamResponse>): Promise<UpstreamResponse> {
    const none = { model: null, tokens: null };
    try {
      const response = await send(call.context);
      const { status } = response;
      if (status === 200) this.#open = call;
      else call.end({ ...none, status, error: String(status) });
      return response;
    } catch (error) {
      const stage = error instanceof UpstreamFailure ? error.stage : "sent";
      call.end({ ...none, status: null, error: stage === "not_sent" ? "not_sent" : "no_answer" });
      throw error;
    }
  }

  /** @param model As the answer names it, without our secrets. */
  answeredBy(model: string): void {
    this.#model = model;
  }

  ended(ending: Ending): void {
    this.#ending = ending;
    this.#endIfOver();
  }

  /** Nothing more of the answer is read. */
  close(): void {
    this.#isClosed = true;
    this.#endIfOver();
  }

  #endIfOver(): void {
    const [call, ending] = [this.#open, this.#ending];
    if (call === null || ending === null || !this.#isClosed) return;
    this.#open = null;
    const { usage } = ending;
    const tokens = typeof usage === "object" ? { input: usage.promptTokens, output: usage.completionTokens } : null;
    call.end({ status: 200, error: errorOf(ending), model: this.#model, tokens });
  }
}

/** The names of OpenTelemetry's conventions for generative AI, by the provider's paths. */
const operations: ReadonlyMap<string, string> = new Map([
  ["/chat/completions", "chat"],
  ["/embeddings", "embeddings"],
]);

function errorOf(ending: Ending): string | null {
  if (ending.kind === "nothing") return "no_content";
  if (ending.complete) return null;
  if (ending.clientGone) return "client_gone";
  return ending.givenUp ? "given_up" : "incomplete";
}
