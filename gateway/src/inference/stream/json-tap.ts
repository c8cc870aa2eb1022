import type { NanoUsd } from "@inference/protocol/money";
import type { TokenBound } from "../../pricing/bound.ts";
import type { Delivered } from "../../pricing/quote.ts";
import { besideContent, nothingReported, parseUsage, type ReportedUsage } from "../../pricing/usage.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import { createByteOutput } from "./byte-output.ts";
import { createHeldValue } from "./held-value.ts";
import { createElementTally, type ElementKind } from "./json-elements.ts";
import { createListFilter } from "./json-list-filter.ts";
import { parseJson } from "./json-object.ts";
import { createJsonValueScan } from "./json-value.ts";
import { usageJson } from "./usage-json.ts";

export type JsonTapOptions = {
  /** The members that a client gets to see. Every other member is dropped. */
  shown: readonly string[];
  /** The member that is what was asked for: a list, whose bytes pass as they are, except for our keys. */
  content: string;
  elements: ElementKind;
  bound?: TokenBound;
  /** Our keys at the provider, which are removed from all that passes. */
  secrets: SecretFilter;
};

/** Why an answer cannot be used: it is no JSON object of the form that was asked for, or says that it is an error. */
export type JsonFault = "malformed" | "error";

/**
 * Reads a JSON answer as its bytes come, cut anywhere, and writes the one that the client gets. Its memory is constant:
 * the content list passes byte for byte, except for our keys; small members are held and read; and the usage is ours.
 * Each chunk costs time in proportion to its length.
 */
export type JsonTap = {
  /** What may go to the client now, if anything. The end of the object never does: it is in `last`. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /** `done`: the object is closed, whatever comes after. `failed`: see `fault`; after an error a usage may still come. */
  state(): "open" | "done" | "failed";
  fault(): JsonFault | null;
  /** The usage and the closing brace. For an answer that is done, once its charge is durable. */
  last(chargeNanoUsd: NanoUsd): Uint8Array;
  reported(): ReportedUsage;
  delivered(): Delivered;
  /** The elements of the content list so far. */
  elements(): number;
  upstreamId(): string | null;
  /** The model that answered, by its own word. */
  model(): string | null;
};

/** What is held of an answer's small members, all together. A member that does not fit is dropped. */
const MAX_HELD_BYTES = 64 * 1024;
const MAX_KEY_BYTES = 256;
/** Members that are read whether a client gets to see them or not. */
const read = new Set(["usage", "error", "id", "model"]);
/** Deeper members are dropped: nobody reads them, and a client's parser may not take them. */
const MAX_DEPTH = 32;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

type State =
  | "start"
  | "first key"
  | "key"
  | "in key"
  | "colon"
  | "value"
  | "in value"
  | "after value"
  | "first element"
  | "element"
  | "in element"
  | "after element"
  | "done"
  | "failed";

const encoder = new TextEncoder();

export function createJsonTap(options: JsonTapOptions): JsonTap {
  const { content, secrets } = options;
  const output = createByteOutput();
  const scan = createJsonValueScan();
  const key = createHeldValue(MAX_KEY_BYTES);
  const value = createHeldValue(MAX_HELD_BYTES);
  const elements = createElementTally(options.elements);
  const list = createListFilter(secrets, output);
  const written = new Set<string>();
  let state: State = "start";
  let marks = 0;
  let name: string | undefined = "";
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
    if (why === "malformed") state = "failed";
  }

  function endKey(): void {
    const raw = key.take();
    // A name that is too long is none of ours.
    const text = raw === undefined ? undefined : parseJson(raw);
    name = typeof text === "string" ? text : undefined;
    if (raw !== undefined && name === undefined) fail("malformed");
  }

  function beginValue(first: number): boolean {
    if (first !== OPEN_ARRAY || name !== content) return begin(scan.begin(first), "in value");
    // Another list could not be taken back.
    if (hasList) fail("malformed");
    else {
      hasList = true;
      writeMember(content, "");
      state = "first element";
    }
    return false;
  }

  function isHeld(): boolean {
    return name !== undefined && (read.has(name) || options.shown.includes(name));
  }

  function endValue(): void {
    state = "after value";
    if (!isHeld() || name === undefined) return;
    const text = value.take();
    if (name === "error") {
      if (text !== "null") fail("error");
      return;
    }
    const parsed = text === undefined ? undefined : parseJson(text);
    if (text !== undefined && parsed === undefined) fail("malformed");
    else if (name === "usage") noteUsage(text === undefined ? "too large" : parsed);
    else if (text !== undefined) endMember(name, text, parsed);
  }

  function endMember(member: string, text: string, parsed: unknown): void {
    heldBytes += text.length;
    if (heldBytes > MAX_HELD_BYTES || scan.depth() > MAX_DEPTH || written.has(member)) return;
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

  function start(byte: number): void {
    if (byte === BYTE_ORDER_MARK[marks]) marks++;
    else if (byte === OPEN_OBJECT) state = "first key";
    else fail("malformed");
  }

  /** A byte that is not white space, outside names and values. True if a name, a value or an element begins with it. */
  function mark(byte: number): boolean {
    switch (state) {
      case "start":
        start(byte);
        return false;
      case "first key":
      case "key":
        return markKey(byte);
      case "colon":
        return expect(byte, COLON, "value");
      case "value":
        return beginValue(byte);
      case "after value":
        return expect(byte, byte === CLOSE_OBJECT ? CLOSE_OBJECT : COMMA, byte === COMMA ? "key" : "done");
      case "after element":
        return expect(byte, byte === CLOSE_ARRAY ? CLOSE_ARRAY : COMMA, byte === COMMA ? "element" : "after value");
      default:
        return beginElement(byte);
    }
  }

  function expect(byte: number, expected: number, next: State): false {
    if (byte === expected) state = next;
    else fail("malformed");
    return false;
  }

  function markKey(byte: number): boolean {
    if (byte === CLOSE_OBJECT && state === "first key") {
      state = "done";
      return false;
    }
    return begin(byte === QUOTE && scan.begin(byte), "in key");
  }

  function beginElement(byte: number): boolean {
    if (byte === CLOSE_ARRAY && state === "first element") {
      state = "after value";
      return false;
    }
    elements.begin(byte);
    return begin(scan.begin(byte), "in element");
  }

  function begin(isGood: boolean, next: State): boolean {
    if (isGood) state = next;
    else fail("malformed");
    return isGood;
  }

  function inKey(chunk: Uint8Array, at: number): number {
    const next = scan.scan(chunk, at, chunk.length);
    key.add(chunk, at, next);
    if (scan.isOver()) {
      state = "colon";
      endKey();
    }
    return next;
  }

  function inValue(chunk: Uint8Array, at: number): number {
    const next = scan.scan(chunk, at, chunk.length);
    if (isHeld()) value.add(chunk, at, next);
    if (scan.isOver()) endValue();
    return next;
  }

  function inElement(chunk: Uint8Array, at: number): number {
    const next = scan.scan(chunk, at, chunk.length);
    pass(chunk, at, next);
    elements.add(chunk, at, next);
    if (scan.isOver()) {
      state = "after element";
      if (!elements.end()) fail("malformed");
    }
    return next;
  }

  /** Nothing more reaches a client after an error. */
  function pass(chunk: Uint8Array, from: number, to: number): void {
    if (fault === null) list.add(chunk, from, to);
  }

  function step(chunk: Uint8Array, at: number): number {
    if (state === "in element") return inElement(chunk, at);
    if (state === "in value") return inValue(chunk, at);
    if (state === "in key") return inKey(chunk, at);
    const wasInList = isInList();
    if (isSpace(chunk[at] as number)) {
      if (wasInList) pass(chunk, at, at + 1);
      return at + 1;
    }
    const isBegun = mark(chunk[at] as number);
    if (isBegun) return at;
    // A list's own brackets and commas pass with it.
    if (wasInList || isInList()) pass(chunk, at, at + 1);
    if (wasInList && state === "after value") endList();
    return at + 1;
  }

  function endList(): void {
    list.end();
    if (elements.isFailure()) fail("error");
  }

  function believed(): ReportedUsage {
    return besideContent(reported, options.bound, () => elements.delivered().bytes > 0);
  }

  function isInList(): boolean {
    return state === "first element" || state === "element" || state === "after element";
  }

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && state !== "done" && state !== "failed") at = step(chunk, at);
      if (hasList) list.flush();
      return output.take();
    },
    state: () => (fault !== null ? "failed" : state === "done" ? "done" : "open"),
    fault: () => fault,
    last(chargeNanoUsd) {
      const { usage } = believed();
      // Ours or none: what cannot be read here is nothing for a client to reckon with.
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

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
