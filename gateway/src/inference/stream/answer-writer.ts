import type { ErrorBody } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { JsonObject } from "../../json-object.ts";
import type { TokenUsage } from "../../pricing/usage.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import type { ContentPiece } from "./choice-content.ts";

/**
 * Writes a chat answer in the shape of another API: the events of a stream, and the whole answer, which is what that
 * API's client makes of the events. A state machine without I/O.
 */
export type AnswerWriter = {
  /** The members of a chunk, or of a whole answer. The first call begins the answer, and later ones do nothing. */
  start(answer: JsonObject): void;
  /** False if the API cannot carry the content, or not as many pieces of it. The answer has to fail then. */
  add(content: readonly ContentPiece[]): boolean;
  /** Why the choice ended, in the words of chat. */
  finish(reason: string): void;
  /** The answer is whole. */
  end(charged: Charged): void;
  /** The answer fails. It may not have been started. */
  fail(error: ErrorBody["error"]): void;
  /** The text of the events since the last call. */
  take(): string;
  /** An event for a client that waits; empty if a comment is as good. */
  keepAlive(): string;
  /** The characters that the answer has so far. */
  length(): number;
  /** The whole answer, as JSON; empty if the API has no whole answer for it. Call it after `end`. */
  whole(): string;
};

/** The usage that is charged. */
export type Charged = {
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  /** The provider reported no usage that can be charged. */
  isEstimated: boolean;
  /** The signed receipt, of an answer without a header for it. */
  receipt?: string;
};

/** The parts of the request that a writer needs. */
export type WriterContext = {
  requestId: string;
  /** A part of all ids in the answer: the request's id, without its prefix. */
  id: string;
  /** When the request arrived, in milliseconds. */
  at: number;
  /** Seals reasoning for the client to send back; null if it cannot be sealed. */
  seal(text: string): string | null;
  /** Our keys at the provider, which are in no part of an answer. */
  secrets: SecretFilter;
};

/** How an order's answer is written. */
export type AnswerFormat = {
  makeWriter(context: WriterContext): AnswerWriter;
  /** A second header with the request's id, which this API's clients read. */
  idHeader?: "request-id";
};

/** Beyond this the answer cannot be written: it is in memory until its end. */
export const MAX_WRITTEN_CHARACTERS = 4 * 1024 * 1024;
