import type { NanoUsd } from "@inference/protocol/money";
import { parseJson } from "../../json-object.ts";
import type { TokenBound } from "../../pricing/bound.ts";
import type { Delivered } from "../../pricing/quote.ts";
import { besideContent, nothingReported, parseUsage, type ReportedUsage } from "../../pricing/usage.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  createJsonScan,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from "../json-scan.ts";
import { createByteOutput } from "./byte-output.ts";
import { createHeldValue } from "./held-value.ts";
import { createElementTally, type ElementKind } from "./json-elements.ts";
import { createListFilter } from "./json-list-filter.ts";
import { usageJson } from "./usage-json.ts";

export type JsonTapOptions = {
  /** The members that a client gets to see. Every other member is dropped. */
  shown: readonly string[];
  /** The member that is what was asked for: a list, whose bytes pass as they are, except for our keys. */
  content: string;
  elements: ElementKind;
  bound?: TokenBound | undefined;
  /** Our keys at the provider, which are removed from all that passes. */
  secrets: SecretFilter;
};

/** Why an answer cannot be used: it is not a JSON object of the expected form, or it is an error. */
export type JsonFault = "malformed" | "error";

/**
 * Reads a JSON answer from chunks that are cut anywhere, and writes the one that the client gets. The content list
 * passes byte for byte, except for our keys. Small members are held and parsed. The usage is ours. The memory is
 * constant, and the time for a chunk is proportional to its length.
 */
export type JsonTap = {
  /** What may be sent now, if anything. The end of the object is in `last` only. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /**
   * `done`: the object is closed, whatever comes after. `failed`: see `fault`; after an error a usage may still come.
   */
  state(): "open" | "done" | "failed";
  fault(): JsonFault | null;
  /** The usage and the closing brace. For an answer that is done, once its charge is durable. */
  last(chargeNanoUsd: NanoUsd): Uint8Array;
  reported(): ReportedUsage;
  delivered(): Delivered;
  /** The elements of the content list so far. */
  elements(): number;
  upstreamId(): string | null;
  /** The model that the answer names. */
  model(): string | null;
};

/** Members that are read even if clients do not see them. */
const READ: readonly (string | undefined)[] = ["usage", "error", "id", "model"];
/** The most bytes of small members that are held, in all. A member that does not fit is dropped. */
const MAX_HELD_BYTES = 64 * 1024;
/** Deeper members are dropped. Nothing reads them, and a client's parser may fail. */
const MAX_DEPTH = 32;
/** What may stand before the object, after white space: a byte order mark. */
const START = /^(\ufeff[ \t\r\n]*)?$/;
const FIRST_OF_MARK = 0xef;

/** What comes next of the object, up to the bracket, comma or colon that ends it. */
type Part = "start" | "key" | "value" | "element" | "after list" | "done" | "failed";
/** The number of arrays and objects that are open where a part ends. */
const LEVELS: Record<Part, number> = { start: 0, key: 1, value: 1, element: 2, "after list": 1, done: -1, failed: -1 };

const encoder = new TextEncoder();

export function createJsonTap(options: JsonTapOptions): JsonTap {
  const { content, secrets } = options;
  const output = createByteOutput();
  const scan = createJsonScan();
  const held = createHeldValue(MAX_HELD_BYTES);
  const elements = createElementTally(options.elements);
  const list = createListFilter(secrets, output);
  const written = new Set<string>();
  let part: Part = "start";
  let level = LEVELS.start;
  /** The part's first byte that is not white space; 0 while there is none. */
  let first = 0;
  let depth = 0;
  let deepest = 0;
  let name: string | undefined;
  let hasMembers = false;
  let hasList = false;
  let heldBytes = 0;
  let fault: JsonFault | null = null;
  let reported: ReportedUsage = nothingReported;
  let upstreamId: string | null = null;
  let model: string | null = null;

  function write(text: string): void {
    const bytes = encoder.encode(text);
    output.add(bytes, 0, bytes.length);
  }

  function writeMember(member: string, text: string): void {
    write(`${written.size === 0 ? "{" : ","}${JSON.stringify(member)}:${text}`);
    written.add(member);
  }

  function fail(why: JsonFault): void {
    fault ??= why;
    if (why === "malformed") begin("failed");
  }

  function begin(next: Part): void {
    part = next;
    level = LEVELS[next];
    first = 0;
    deepest = depth;
  }

  function isHeld(): boolean {
    return name !== undefined && (READ.includes(name) || options.shown.includes(name));
  }

  /** Adds bytes to the part. White space before it does not belong to it, but passes in the list. */
  function gather(chunk: Uint8Array, from: number, to: number): void {
    let at = from;
    if (part === "element") pass(chunk, from, to);
    while (first === 0 && at < to) {
      if (isSpace(chunk[at] as number)) at++;
      else beginPart(chunk[at] as number);
    }
    if (at === to) return;
    if (part === "element") elements.add(chunk, at, to);
    else if (part !== "value" || isHeld()) held.add(chunk, at, to);
  }

  function beginPart(byte: number): void {
    if (part === "element") elements.begin(byte);
    else if (part === "after list" || (part === "start" && byte !== FIRST_OF_MARK)) fail("malformed");
    first = byte;
  }

  /** The part ends at this byte, if it may. */
  function end(byte: number): void {
    if (part === "start" && byte === OPEN_OBJECT) endStart();
    else if (part === "key" && byte === COLON) endKey();
    else if (part === "key" && byte === CLOSE_OBJECT && first === 0 && !hasMembers) begin("done");
    else if (part === "element" && (byte === COMMA || byte === CLOSE_ARRAY)) endElement(byte);
    else if (level === LEVELS.value && part !== "key" && (byte === COMMA || byte === CLOSE_OBJECT)) endMember(byte);
    else fail("malformed");
  }

  function endStart(): void {
    if (START.test(held.take() ?? "too long")) begin("key");
    else fail("malformed");
  }

  function endKey(): void {
    const text = held.take();
    // A name that is too long is none that we know.
    const key = text === undefined ? undefined : parseJson(text);
    name = typeof key === "string" ? key : undefined;
    hasMembers = true;
    if (text !== undefined && name === undefined) fail("malformed");
    else begin("value");
  }

  function beginList(): void {
    // A second list could not be taken back.
    if (hasList) {
      fail("malformed");
      return;
    }
    hasList = true;
    writeMember(content, "");
    begin("element");
  }

  function endElement(byte: number): void {
    const isEmptyList = first === 0 && byte === CLOSE_ARRAY && elements.count() === 0;
    if (!isEmptyList && (first === 0 || !elements.end())) {
      fail("malformed");
      return;
    }
    begin(byte === COMMA ? "element" : "after list");
  }

  function endList(): void {
    list.end();
    if (elements.isFailure()) fail("error");
  }

  function endMember(byte: number): void {
    if (part === "value") {
      if (first === 0) fail("malformed");
      else if (isHeld()) noteValue(held.take());
    }
    if (level >= 0) begin(byte === COMMA ? "key" : "done");
  }

  function noteValue(text: string | undefined): void {
    const parsed = text === undefined ? undefined : parseJson(text);
    if (name === "error") {
      if (parsed !== null) fail("error");
    } else if (text !== undefined && parsed === undefined) fail("malformed");
    else if (name === "usage") noteUsage(text === undefined ? "too large" : parsed);
    else if (name !== undefined && text !== undefined) noteMember(name, text.trimEnd(), parsed);
  }

  function noteMember(member: string, text: string, parsed: unknown): void {
    heldBytes += text.length;
    if (heldBytes > MAX_HELD_BYTES || deepest - level > MAX_DEPTH || written.has(member)) return;
    if (member === "id" && typeof parsed === "string") upstreamId = parsed;
    if (member === "model" && typeof parsed === "string") model = parsed;
    if (!options.shown.includes(member)) return;
    const clean = secrets.remove(text);
    if (clean === text || parseJson(clean) !== undefined) writeMember(member, clean);
  }

  function noteUsage(parsed: unknown): void {
    const usage = parseUsage(parsed, options.bound);
    const malformedUsage = reported.malformedUsage || usage === "malformed";
    reported = { usage: usage === "missing" ? reported.usage : usage, malformedUsage };
  }

  /** Nothing more reaches a client after an error. */
  function pass(chunk: Uint8Array, from: number, to: number): void {
    if (fault === null) list.add(chunk, from, to);
  }

  function read(chunk: Uint8Array): void {
    let from = 0;
    let at = scan.next(chunk, 0);
    for (; level >= 0 && at < chunk.length; at = scan.next(chunk, at + 1)) {
      const byte = chunk[at] as number;
      const outside = depth;
      const opens = byte === OPEN_ARRAY || byte === OPEN_OBJECT;
      if (opens) {
        depth++;
        if (depth > deepest) deepest = depth;
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
      if (outside !== level || (opens && part !== "start" && part !== "value")) continue;
      gather(chunk, from, at);
      from = at;
      const wasInList = part === "element";
      if (!opens || part === "start") end(byte);
      else if (byte === OPEN_ARRAY && name === content && first === 0) beginList();
      else continue;
      if (wasInList || part === "element") pass(chunk, at, at + 1);
      if (wasInList && part === "after list") endList();
      from = at + 1;
    }
    if (level >= 0) gather(chunk, from, chunk.length);
  }

  function believed(): ReportedUsage {
    return besideContent(reported, options.bound, () => elements.delivered().bytes > 0);
  }

  return {
    push(chunk) {
      read(chunk);
      if (hasList) list.flush();
      return output.take();
    },
    state: () => (fault !== null ? "failed" : part === "done" ? "done" : "open"),
    fault: () => fault,
    last(chargeNanoUsd) {
      const { usage } = believed();
      // The client gets our usage or none.
      if (typeof usage === "object" && options.shown.includes("usage")) {
        writeMember("usage", usageJson(usage, chargeNanoUsd));
      }
      write(written.size === 0 ? "{}" : "}");
      return output.take() ?? new Uint8Array();
    },
    reported: believed,
    delivered: elements.delivered,
    elements: elements.count,
    upstreamId: () => upstreamId,
    model: () => model,
  };
}
