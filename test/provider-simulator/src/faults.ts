/**
 * What can go wrong, by name. A fault is asked for by a model called `fault-<name>`, by the marker `[[fault=<name>]]`
 * in the request's text, or by placing it on a model or path through the control API.
 */

export type FaultStage = "answer" | "socket" | "stream" | "usage" | "image" | "speech";

export interface FaultNote {
  /**
   * Where it strikes: instead of an answer, at the connection, inside an answer, in its usage, or on one route only.
   */
  readonly stage: FaultStage;
  readonly does: string;
}

function note(stage: FaultStage, does: string): FaultNote {
  return { stage, does };
}

export const FAULTS: Readonly<Record<string, FaultNote>> = {
  "400-schema": note("answer", "400 with details and issues"),
  "400-openai": note("answer", "400 with an OpenAI error object, context_length_exceeded"),
  "400-provider": note("answer", "400 with error and request_id"),
  "401": note("answer", "401, authentication failed"),
  "401-key-in-body": note("answer", "401 that repeats the received key in its text"),
  "401-model": note("answer", "401, a model for other keys"),
  "402-balance": note("answer", "402, account balance is too low"),
  "402-key-limit": note("answer", "402, the key's USD limit is spent"),
  "402-diem-limit": note("answer", "402, the key's DIEM limit is spent"),
  "402-wallet": note("answer", "402 with the wallet top-up body"),
  "403": note("answer", "403, region"),
  "403-flagged": note("answer", "403, the prompt was flagged, with reasons"),
  "404": note("answer", "404, model not found"),
  "409": note("answer", "409, another request is in progress"),
  "410": note("answer", "410, the model can no longer be routed"),
  "413": note("answer", "413 with PAYLOAD_TOO_LARGE"),
  "415": note("answer", "415, media type"),
  "422": note("answer", "422, content policy, with suggested_prompt"),
  "422-fields": note("answer", "422 with a list of details, each with the place of a field"),
  "429": note("answer", "429 without Retry-After"),
  "429-retry-after": note("answer", "429, overloaded, with Retry-After: 30"),
  "429-budget": note("answer", "429, error budget text, with Retry-After: 0"),
  "500": note("answer", "500, inference failed"),
  "500-large": note("answer", "500 with a body of 10 MB"),
  "502": note("answer", "502, upstream of the provider"),
  "503": note("answer", "503, at capacity"),
  "503-offline": note("answer", "503, model offline"),
  "504": note("answer", "504, use stream=true"),
  "html-200": note("answer", "200 with an HTML page"),
  "204": note("answer", "204 without a body"),
  redirect: note("answer", "307 to http://127.0.0.1:9/"),
  "hang-before-headers": note("socket", "accepts the request and never answers"),
  "reset-before-headers": note("socket", "resets the connection instead of answering"),
  "fin-before-headers": note("socket", "closes the connection instead of answering"),
  "endless-headers": note("socket", "sends header lines and never ends them"),
  "200-error-only": note("stream", "200, an error event, nothing else (buffered: an error object)"),
  "error-then-usage": note(
    "stream",
    "200, an error event, usage of tokens never sent, billed, [DONE] (buffered: alike)",
  ),
  "error-after-content": note("stream", "half of the tokens, an error event, [DONE], no usage (buffered: 500)"),
  "error-then-content": note("stream", "half of the tokens, an error event, the rest, usage, [DONE]"),
  "cut-mid-stream": note("stream", "half of the tokens, then RST (buffered: half of the body)"),
  "cut-fin": note("stream", "half of the tokens, then FIN inside the body (buffered: half of the body)"),
  "cut-before-done": note(
    "stream",
    "all tokens, then a clean end without usage and [DONE] (buffered: half of the body)",
  ),
  stall: note("stream", "half of the tokens, then silence (buffered: half of the body)"),
  "slow-drip": note("stream", "one token every slowDripMs"),
  "byte-drip": note("stream", "one byte every slowDripMs"),
  "endless-body": note("stream", "tokens without end, past max_tokens (buffered: white space without end)"),
  "no-usage": note("stream", "[DONE] without a usage chunk (buffered: no usage field)"),
  "split-utf8": note("stream", "writes end inside UTF-8 sequences"),
  "split-data": note("stream", "writes end inside the word data:"),
  crlf: note("stream", "lines end in CRLF"),
  cr: note("stream", "lines end in CR"),
  "mixed-endings": note("stream", "lines end in LF, CRLF and CR by turns"),
  bom: note("stream", "a byte order mark before the first event"),
  "no-space": note("stream", "no space after data:"),
  "multiline-data": note("stream", "each event's JSON over two data: lines"),
  "many-per-chunk": note("stream", "all events in one write"),
  "big-event": note("stream", "one event of bigEventBytes amid the tokens"),
  comments: note("stream", "comment lines, event: and id: fields between the events"),
  "done-twice": note("stream", "[DONE] twice"),
  "trailing-after-done": note("stream", "another token event after [DONE]"),
  "trailing-garbage": note("stream", "bytes that are no event between the last token and usage"),
  gzip: note("stream", "the body compressed, whatever was accepted"),
  remap: note("stream", "another model answers, is named in the response, and sets the price"),
  "usage-negative": note("usage", "negative counts"),
  "usage-fractional": note("usage", "counts with a fraction"),
  "usage-text": note("usage", "counts as strings"),
  "usage-nan": note("usage", "counts as the strings NaN"),
  "usage-absurd": note("usage", "2^53+1 completion tokens"),
  "usage-int32": note("usage", "2^31-1 completion tokens"),
  "usage-1e400": note("usage", "1e400 completion tokens"),
  "usage-zeros": note("usage", "all counts zero"),
  "usage-total-only": note("usage", "total_tokens alone"),
  "usage-subcounts": note("usage", "cached above prompt, reasoning above completion"),
  "usage-above-bound": note("usage", "1,000 completion tokens above the maximum, and billed so"),
  "usage-null-everywhere": note("usage", "usage: null in every chunk before the real one (buffered: null)"),
  "usage-repeated": note("usage", "a usage chunk with smaller counts, then the real one"),
  "usage-worsens": note("usage", "a usage chunk with smaller counts, then one with strings"),
  "usage-mends": note("usage", "a usage chunk with strings, then the real one"),
  "image-violation": note("image", "200, black image, violation header, not billed"),
  "image-blurred": note("image", "200 with the blurred header, billed"),
  "image-large": note("image", "largeImageBytes of image"),
  "image-cut": note("image", "half of the body, then RST"),
  "speech-cut": note("speech", "half of the audio, then the connection ends"),
  "speech-error": note("speech", "500 Stream error"),
  "speech-empty": note("speech", "200 without a byte of audio, not billed"),
};

export const FAULT_NAMES: ReadonlySet<string> = new Set(Object.keys(FAULTS));
export const FAULT_PREFIX = "fault-";

/** The catalogue id of a fault: `fault-500`, `fault-cut-mid-stream`, `fault-image-violation`. */
export function faultModelId(name: string): string {
  return FAULT_PREFIX + name;
}
