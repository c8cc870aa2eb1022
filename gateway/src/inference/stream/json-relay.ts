import { createByteOutput, createHeldValue } from "../../bytes.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  createJsonScan,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from "../../http/json/json-scan.ts";
import { parseJson } from "../../json-object.ts";
import type { TokenBound } from "../../pricing/bound.ts";
import {
  besideContent,
  nothingReported,
  parseUsage,
  type ReportedUsage,
  readUsage,
  reportedCost,
  reportedOnce,
} from "../../pricing/usage.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import { createElementTally, type ElementKind } from "./json-elements.ts";
import { makeSecretRemover } from "./secret-remover.ts";
import type { WholeTap } from "./tap.ts";
import { usageJson } from "./usage-json.ts";

export type JsonOptions = {
  /** The members that a client gets to see. Every other member is dropped. */
  shown: readonly string[];
  /** The member that is what was asked for: a list. */
  content: string;
  elements: ElementKind;
  bound?: TokenBound | undefined;
  /** Our keys at the provider, which are removed from all that passes. */
  secrets: SecretFilter;
};

/** The members that are read, whether a client sees them or not. */
const READ: readonly string[] = ["usage", "duration", "cost", "error", "id", "model"];
/** A longer name is none that is known, and a longer member is not read. */
const MAX_HELD_BYTES = 64 * 1024;
/** The bytes of a byte order mark. */
const MARK: readonly number[] = [0xef, 0xbb, 0xbf];

type Place = "start" | "key" | "value" | "done" | "malformed";

const encoder = new TextEncoder();

/** The elements of the content list so far. */
export type JsonRelay = WholeTap & { elements(): number };

/**
 * Passes a JSON answer of any size on, from chunks that are cut anywhere: the bytes of the members that a client may
 * see, except for our keys. It finds the members of the outermost object and the elements of its content list by their
 * brackets, commas and colons, in constant memory. It does not check the grammar of what passes.
 */
export function createJsonRelay({ shown, content, elements: kind, secrets, bound }: JsonOptions): JsonRelay {
  const scan = createJsonScan();
  const held = createHeldValue(MAX_HELD_BYTES);
  const elements = createElementTally(kind);
  const output = createByteOutput();
  const remover = makeSecretRemover(secrets);
  const written = new Set<string>();
  let place: Place = "start";
  /** The open brackets, and how many are open where the present part ends: 2 in the content list, else 1. */
  let depth = 1;
  let level = 1;
  let name = "";
  let passes = false;
  let hasError = false;
  let reported: ReportedUsage = nothingReported;
  /** The members that may name the provider's cost, and the duration of audio. */
  const said: { cost?: unknown; usage?: unknown; duration?: unknown } = {};
  let upstreamId: string | null = null;
  let model: string | null = null;

  /** Skips what may stand before the object. */
  function start(chunk: Uint8Array): number {
    let at = 0;
    while (at < chunk.length && (isSpace(chunk[at] as number) || MARK.includes(chunk[at] as number))) at++;
    if (at < chunk.length) place = chunk[at] === OPEN_OBJECT ? "key" : "malformed";
    if (place === "key") write("{");
    return at + 1;
  }

  function write(text: string): void {
    const bytes = encoder.encode(text);
    output.add(bytes, 0, bytes.length);
  }

  /** Takes bytes of the present part. */
  function take(chunk: Uint8Array, from: number, to: number): void {
    if (level === 2 || isText()) elements.add(chunk, from, to);
    else if (place === "key" || READ.includes(name)) held.add(chunk, from, to);
    if (passes) output.add(chunk, from, to);
  }

  /** The present part ends at this byte, if it may. */
  function end(chunk: Uint8Array, at: number): void {
    const byte = chunk[at] as number;
    if (level === 2 && byte !== COLON) endElement(chunk, at, byte === COMMA);
    else if (place === "key" && byte === COLON) beginMember();
    else if (place === "key" && byte === CLOSE_OBJECT && held.take()?.trim() === "") place = "done";
    else if (place === "value" && (byte === COMMA || byte === CLOSE_OBJECT)) endMember(byte === COMMA);
    else place = "malformed";
  }

  function beginMember(): void {
    const text = held.take();
    const key = text === undefined ? "" : parseJson(text);
    if (typeof key !== "string") {
      place = "malformed";
      return;
    }
    name = key;
    place = "value";
    // The client gets our usage or none.
    passes = !hasError && shown.includes(name) && name !== "usage" && !written.has(name);
    if (!passes) return;
    write(`${written.size === 0 ? "" : ","}${JSON.stringify(name)}:`);
    written.add(name);
  }

  /** Whether the present part is the content as a text. */
  function isText(): boolean {
    return kind === "text" && place === "value" && name === content;
  }

  function beginsList(byte: number): boolean {
    return byte === OPEN_ARRAY && depth === 2 && level === 1 && place === "value" && name === content && passes;
  }

  function endMember(hasMore: boolean): void {
    if (READ.includes(name)) noteMember(held.take());
    if (isText()) elements.end();
    place = hasMore ? "key" : "done";
    passes = false;
  }

  function endElement(chunk: Uint8Array, at: number, hasMore: boolean): void {
    elements.end();
    if (passes) output.add(chunk, at, at + 1);
    if (hasMore) return;
    level = 1;
    if (elements.isFailure()) fail();
  }

  function noteMember(text: string | undefined): void {
    const value = text === undefined ? text : parseJson(text);
    if (name === "error" && value !== null) fail();
    else if (name === "usage") noteUsage(text === undefined ? "too large" : value);
    else if (name === "cost" || name === "duration") said[name] = value;
    else if (name === "id" && typeof value === "string") upstreamId ??= value;
    else if (name === "model" && typeof value === "string") model ??= value;
  }

  function noteUsage(value: unknown): void {
    said.usage = value;
    if (bound?.audioMs !== undefined) return;
    const usage = parseUsage(value, bound);
    const malformedUsage = reported.malformedUsage || usage === "malformed";
    reported = { usage: usage === "missing" ? reported.usage : usage, malformedUsage };
  }

  /** Nothing more passes. A usage may still come. */
  function fail(): void {
    hasError = true;
    passes = false;
  }

  const isOpen = (): boolean => place === "key" || place === "value";

  function read(chunk: Uint8Array): void {
    let from = place === "start" ? start(chunk) : 0;
    let at = from;
    for (; isOpen(); at++) {
      at = depth > level ? scan.nextBracket(chunk, at) : scan.next(chunk, at);
      if (at >= chunk.length) break;
      const byte = chunk[at] as number;
      if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        depth++;
        if (!beginsList(byte)) continue;
        take(chunk, from, at + 1);
        level = 2;
      } else if (depth > level) {
        depth--;
        continue;
      } else {
        take(chunk, from, at);
        if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
        end(chunk, at);
      }
      from = at + 1;
    }
    if (isOpen()) take(chunk, from, chunk.length);
  }

  function believed(): ReportedUsage {
    if (bound?.audioMs !== undefined) return { ...reportedOnce(readUsage(said, bound)), ...reportedCost(said) };
    return { ...besideContent(reported, bound, () => elements.delivered().bytes > 0), ...reportedCost(said) };
  }

  return {
    push(chunk) {
      read(chunk);
      const bytes = output.take();
      const passed = bytes === undefined ? undefined : remover.push(bytes);
      return passed?.length === 0 ? undefined : passed;
    },
    end: () => undefined,
    state: () => (hasError || place === "malformed" ? "failed" : place === "done" ? "done" : "open"),
    fault: () => (hasError ? "error" : place === "malformed" ? "malformed" : null),
    last(charged) {
      const comma = written.size === 0 ? "" : ",";
      const member = shown.includes("usage") ? `${comma}"usage":${usageJson(charged)}` : "";
      return Buffer.concat([remover.end(), encoder.encode(`${member}}`)]);
    },
    reported: believed,
    delivered: elements.delivered,
    elements: elements.count,
    upstreamId: () => upstreamId,
    model: () => model,
  };
}
