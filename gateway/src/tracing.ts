/** The place of a request in its trace: the headers `traceparent` and `tracestate` of W3C's Trace Context. */
export type TraceContext = { traceparent: string; tracestate: string | null };

/** Makes spans of requests. They have no content, no account, no key and no address. */
export type Tracing = {
  /** A request has arrived, from this place in a trace if its client named one. */
  begin(request: { at: number; method: string; parent: TraceContext | null }): RequestSpan;
};

/** The span of a request. It ends with its answer, or with the last call if that ends later, as of a stream. */
export type RequestSpan = {
  /** The request is answered, or its stream begins. */
  answered(answer: { id: string; route: string; status: number; code: string | null }): void;
  /** The request is sent to the provider. */
  call(call: { operation: string; model: string }): CallSpan;
};

/** The span of one try at the provider. */
export type CallSpan = {
  /** The place of the try, for the provider. */
  context: TraceContext;
  end(result: CallResult): void;
};

export type CallResult = {
  /** The provider's status; null if it sent none. */
  status: number | null;
  /** Why there was no answer, or only a part; null if there was one. */
  error: string | null;
  /** The model that the answer names. */
  model: string | null;
  tokens: { input: number; output: number } | null;
};

/** A request's trace. Without a span, the provider gets the place that the client named. */
export type Trace = { parent: TraceContext | null; span: RequestSpan | null };
