import type { UpstreamConfig } from "@inference/gateway/config";
import type { CallResult, RequestSpan, TraceContext, Tracing } from "@inference/gateway/tracing";
import { resultWithin } from "@inference/protocol/timers";
import type { Span } from "@opentelemetry/api";
import manifest from "../package.json" with { type: "json" };
import { timers } from "./timers.ts";

export type NodeTracing = Tracing & {
  /** Sends the spans that wait, for a few seconds at most. Never throws. */
  close(): Promise<void>;
};

/** Spans that wait for the collector. Beyond it new ones are lost. */
const QUEUED_SPANS = 2_048;
/** For one export, with its repetitions. */
const EXPORT_MS = 10_000;
/** How long a stop waits for the last export. */
const CLOSE_MS = 3_000;

/**
 * Sends a span of each request, and of each try at the provider, to a collector by OTLP over HTTP (JSON), with
 * OpenTelemetry's own library and its conventions for HTTP and generative AI. Spans leave in batches in the background.
 * While the collector is away they are lost, and requests notice nothing. The library is loaded here alone.
 *
 * @param endpoint The URL of the collector. The exporter adds `/v1/traces`.
 */
export async function openTracing(
  endpoint: string,
  upstream: Pick<UpstreamConfig, "profile" | "baseUrl">,
): Promise<NodeTracing> {
  const [api, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const { SpanKind, SpanStatusCode, ROOT_CONTEXT, createTraceState, trace } = api;
  const service = { "service.name": "inference-gateway", "service.version": manifest.version };
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
  const named = resources.detectResources({ detectors: [resources.envDetector] });
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_MS });
  const spans = new sdk.TracerProvider({
    // A client does not decide what its operator sees.
    sampler: new sdk.AlwaysOnSampler(),
    resource: resources.resourceFromAttributes(service).merge(named),
    spanProcessors: [
      new sdk.BatchSpanProcessor({ exporter, maxQueueSize: QUEUED_SPANS, exportTimeoutMillis: EXPORT_MS }),
    ],
  });
  const tracer = spans.getTracer("inference-gateway", manifest.version);
  const { hostname, port } = new URL(upstream.baseUrl);
  const server = { "server.address": hostname, ...(port === "" ? {} : { "server.port": Number(port) }) };

  function parentContext(parent: TraceContext | null) {
    if (parent === null) return ROOT_CONTEXT;
    const [, traceId = "", spanId = "", flags = "00"] = parent.traceparent.split("-");
    const state = parent.tracestate === null ? {} : { traceState: createTraceState(parent.tracestate) };
    const place = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true, ...state };
    return trace.setSpanContext(ROOT_CONTEXT, place);
  }

  function fail(span: Span, error: string): void {
    span.setAttribute("error.type", error);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }

  function endCall(span: Span, { status, error, model, tokens }: CallResult): void {
    if (status !== null) span.setAttribute("http.response.status_code", status);
    if (model !== null) span.setAttribute("gen_ai.response.model", model);
    if (tokens !== null) {
      span.setAttributes({ "gen_ai.usage.input_tokens": tokens.input, "gen_ai.usage.output_tokens": tokens.output });
    }
    if (error !== null) fail(span, error);
    span.end();
  }

  return {
    begin({ at, method, parent }): RequestSpan {
      const attributes = { "http.request.method": method };
      const span = tracer.startSpan(
        method,
        { kind: SpanKind.SERVER, startTime: new Date(at), attributes },
        parentContext(parent),
      );
      const inside = trace.setSpan(ROOT_CONTEXT, span);
      let openCalls = 0;
      let isAnswered = false;
      const endIfOver = (): void => {
        if (isAnswered && openCalls === 0) span.end();
      };
      return {
        answered({ id, route, status, code }) {
          const [, path] = route.split(" ");
          if (path !== undefined) span.updateName(route).setAttribute("http.route", path);
          span.setAttribute("http.response.status_code", status);
          span.setAttribute("http.response.header.x-request-id", [id]);
          if (status >= 500) fail(span, code ?? String(status));
          else if (code !== null) span.setAttribute("error.type", code);
          isAnswered = true;
          endIfOver();
        },
        call({ operation, model }) {
          const call = tracer.startSpan(
            `${operation} ${model}`,
            {
              // The clock of the request's span.
              ...{ kind: SpanKind.CLIENT, startTime: new Date() },
              attributes: {
                ...{ "gen_ai.operation.name": operation, "gen_ai.request.model": model },
                ...{ "gen_ai.provider.name": upstream.profile, ...server },
              },
            },
            inside,
          );
          openCalls += 1;
          return {
            context: contextOf(call),
            end(result) {
              endCall(call, result);
              openCalls -= 1;
              endIfOver();
            },
          };
        },
      };
    },
    close: () => resultWithin(timers, CLOSE_MS, spans.shutdown()).catch(() => undefined),
  };
}

function contextOf(span: Span): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const flags = traceFlags.toString(16).padStart(2, "0");
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() || null };
}
