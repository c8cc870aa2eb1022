import { parseJson } from "../../json-object.ts";
import type { Delivered } from "../../pricing/quote.ts";
import { deliveredInChoice, isFailedChoice } from "./choice-content.ts";
import { halfTokensInChoice } from "./choice-estimate.ts";
import { createHeldValue } from "./held-value.ts";

/** The kind of elements in an answer's content list. */
export type ElementKind = "choices" | "embeddings" | "images";

/**
 * Measures what is delivered in the elements of a content list while they pass.
 *
 * - Choices: the bytes of their content, the estimate of their tokens, and an event for each choice with content. A
 *   choice that is too large to be parsed counts with all its bytes.
 * - Embeddings: an event for each that is large enough to have a vector. None is parsed.
 * - Images: an event for each. An image is a text, or an object with a text in `url` or `b64_json` and no `error`, or
 *   an element that is too large to be parsed.
 *
 * After the first 1,024 elements none is parsed: they count by their size and their first byte. The bytes of an element
 * count as delivered while it has not ended.
 */
export type ElementTally = {
  begin(first: number): void;
  add(bytes: Uint8Array, start: number, end: number): void;
  /** False if the element was parsed and is not JSON. */
  end(): boolean;
  delivered(): Delivered;
  /** The elements that have ended. */
  count(): number;
  /** Whether the provider says that a choice failed, and no choice has content. */
  isFailure(): boolean;
};

/** The largest element that is parsed. The slowest of this size take one to two milliseconds. */
const MAX_READ_BYTES = 32 * 1024;
/** The most elements that are parsed. No request has as many choices or images. */
const MAX_READ_ELEMENTS = 1_024;
/** The first byte of an element that is not empty, and the bytes of the shortest one: `{"delta":{}}`, `"x"`. */
const LEAST: Record<ElementKind, { begins: string; bytes: number }> = {
  choices: { begins: "{", bytes: 12 },
  embeddings: { begins: "{", bytes: 17 },
  images: { begins: '"{', bytes: 3 },
};

export function createElementTally(kind: ElementKind): ElementTally {
  const held = createHeldValue(MAX_READ_BYTES);
  let bytes = 0;
  let events = 0;
  let halfTokens = 0;
  let elements = 0;
  let failed = 0;
  let first = 0;
  let length = 0;

  function note(delivered: Delivered, estimate = 2 * delivered.bytes): void {
    bytes += delivered.bytes;
    events += delivered.events;
    halfTokens += estimate;
  }

  function isRead(): boolean {
    return kind !== "embeddings" && elements < MAX_READ_ELEMENTS;
  }

  return {
    begin(byte) {
      first = byte;
      length = 0;
    },
    add(chunk, start, end) {
      length += end - start;
      if (isRead()) held.add(chunk, start, end);
    },
    end() {
      const size = length;
      length = 0;
      const text = isRead() ? held.take() : undefined;
      elements++;
      if (text === undefined) {
        note(unread(kind, first, size));
        return true;
      }
      const element = parseJson(text);
      if (element !== undefined) note(measureElement(kind, element), estimateElement(kind, element));
      if (kind === "choices" && isFailedChoice(element)) failed++;
      return element !== undefined;
    },
    delivered: () => ({ bytes: bytes + length, events, halfTokens: halfTokens + 2 * length }),
    count: () => elements,
    isFailure: () => failed > 0 && bytes === 0,
  };
}

/** The same of a list that was parsed. */
export function isFailure(kind: ElementKind, list: readonly unknown[]): boolean {
  return kind === "choices" && list.some(isFailedChoice) && measureElements(kind, list).bytes === 0;
}

/** What was delivered in a list that was parsed. */
export function measureElements(kind: ElementKind, list: readonly unknown[]): Delivered {
  const delivered = { bytes: 0, events: 0 };
  for (const element of list) {
    const { bytes, events } = measureElement(kind, element);
    delivered.bytes += bytes;
    delivered.events += events;
  }
  return delivered;
}

/** The estimate of the tokens in a list that was parsed, in half tokens. It takes longer than the measure. */
export function estimateElements(kind: ElementKind, list: readonly unknown[]): number {
  return list.reduce<number>((total, element) => total + estimateElement(kind, element), 0);
}

function measureElement(kind: ElementKind, element: unknown): Delivered {
  if (kind === "images") return { bytes: 0, events: isImage(element) ? 1 : 0 };
  if (kind === "embeddings") return { bytes: 0, events: isEmbedding(element) ? 1 : 0 };
  const bytes = mostContent(element, deliveredInChoice);
  return { bytes, events: bytes > 0 ? 1 : 0 };
}

function estimateElement(kind: ElementKind, element: unknown): number {
  return kind === "choices" ? mostContent(element, halfTokensInChoice) : 0;
}

function unread(kind: ElementKind, first: number, size: number): Delivered {
  const { begins, bytes } = LEAST[kind];
  const isReal = size >= bytes && begins.includes(String.fromCharCode(first));
  return { bytes: isReal && kind === "choices" ? size : 0, events: isReal ? 1 : 0 };
}

/** The largest measure of what may be a choice's content. */
function mostContent(choice: unknown, measure: (content: unknown) => number): number {
  const { message, delta, text } = (choice ?? {}) as Record<string, unknown>;
  return Math.max(measure(message), measure(delta), measure({ content: text }));
}

function isEmbedding(element: unknown): boolean {
  const { embedding } = (element ?? {}) as Record<string, unknown>;
  return (Array.isArray(embedding) || typeof embedding === "string") && embedding.length > 0;
}

function isImage(element: unknown): boolean {
  if (typeof element === "string") return element !== "";
  const { url, b64_json: base64, error } = (element ?? {}) as Record<string, unknown>;
  const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
  return (error ?? null) === null && (isText(url) || isText(base64));
}
