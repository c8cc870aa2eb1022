import { createHeldValue } from "../../bytes.ts";
import { isSpace } from "../../http/json/json-scan.ts";
import { asObject, parseJson } from "../../json-object.ts";
import type { Delivered } from "../../pricing/quote.ts";
import { contentBytes, isFailedChoice, readContent } from "./choice-content.ts";

/** The kind of elements in an answer's content list. */
export type ElementKind = "choices" | "embeddings" | "images" | "text";

/**
 * Measures what is delivered in the elements of a content list while they pass.
 *
 * - Choices: the bytes of their content, and an event for each choice with content.
 * - Embeddings: an event for each with a vector.
 * - Text: an event for a text that is the content itself, in place of a list.
 * - Images: an event for each text, or object with a text in `url` or `b64_json` and no `error`.
 *
 * A large element, and each after the first 1,024, is not parsed: it counts by its bytes. The bytes of an element count
 * as delivered while it has not ended.
 */
export type ElementTally = {
  add(bytes: Uint8Array, start: number, end: number): void;
  /** The element has ended. One of white space alone is none. */
  end(): void;
  delivered(): Delivered;
  /** The elements that have ended. */
  count(): number;
  /** Whether the provider says that a choice failed, and no choice has content. */
  isFailure(): boolean;
};

/** The largest element that is parsed, and the most of them. No request has as many choices or images. */
const MAX_READ_BYTES: Record<ElementKind, number> = {
  choices: 64 * 1024,
  embeddings: 4 * 1024,
  images: 4 * 1024,
  text: 4 * 1024,
};
const MAX_READ_ELEMENTS = 1_024;
/** The bytes of the shortest element that is not empty: `{"delta":{}}`, `{"embedding":[0]}`, `"x"`, `""`. */
const SHORTEST: Record<ElementKind, number> = { choices: 12, embeddings: 17, images: 3, text: 2 };

export function createElementTally(kind: ElementKind): ElementTally {
  const held = createHeldValue(MAX_READ_BYTES[kind]);
  let bytes = 0;
  let events = 0;
  let elements = 0;
  let failed = 0;
  /** The bytes of the present element. */
  let length = 0;

  function note(delivered: Delivered): void {
    bytes += delivered.bytes;
    events += delivered.events;
  }

  return {
    add(chunk, start, end) {
      let at = start;
      if (length === 0) while (at < end && isSpace(chunk[at] as number)) at++;
      length += end - at;
      if (elements < MAX_READ_ELEMENTS) held.add(chunk, at, end);
    },
    end() {
      const size = length;
      length = 0;
      const text = elements < MAX_READ_ELEMENTS ? held.take() : undefined;
      if (size === 0) return;
      elements++;
      const isReal = size >= SHORTEST[kind];
      const unread = { bytes: isReal && kind === "choices" ? size : 0, events: isReal ? 1 : 0 };
      const element = text === undefined ? undefined : parseJson(text);
      note(element === undefined ? unread : measureElement(kind, element));
      if (kind === "choices" && isFailedChoice(element)) failed++;
    },
    delivered: () => ({ bytes: bytes + length, events }),
    count: () => elements,
    isFailure: () => failed > 0 && bytes === 0,
  };
}

/** Measures the content of a parsed list. */
export function measureElements(kind: ElementKind, list: readonly unknown[]): Delivered {
  const delivered = { bytes: 0, events: 0 };
  for (const element of list) {
    const { bytes, events } = measureElement(kind, element);
    delivered.bytes += bytes;
    delivered.events += events;
  }
  return delivered;
}

function measureElement(kind: ElementKind, element: unknown): Delivered {
  if (kind === "text") return { bytes: 0, events: typeof element === "string" ? 1 : 0 };
  if (kind === "images") return { bytes: 0, events: isImage(element) ? 1 : 0 };
  if (kind === "embeddings") return { bytes: 0, events: isEmbedding(element) ? 1 : 0 };
  const bytes = choiceBytes(element);
  return { bytes, events: bytes > 0 ? 1 : 0 };
}

/** The bytes of the largest of the members that may have a choice's content. */
function choiceBytes(choice: unknown): number {
  const { message, delta, text } = asObject(choice) ?? {};
  return Math.max(...[message, delta, { content: text }].map((content) => contentBytes(readContent(content))));
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
