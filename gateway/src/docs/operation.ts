import type { ErrorCode } from "@inference/protocol/errors";
import type * as z from "zod";

/** An endpoint's documentation, with the schemas that check requests. */
export type Operation = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With parameters in braces. */
  path: string;
  id: string;
  group: (typeof operationGroups)[number];
  /** A few words. `about` has further sentences. */
  title: string;
  about?: string;
  /** The accepted bearer tokens; empty for a public endpoint. */
  credentials: readonly Credential[];
  pathParameters?: Readonly<Record<string, string>>;
  query?: z.ZodObject;
  /** Optional headers, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
  body?: NamedSchema;
  /** The media types of the body; JSON if absent. */
  bodyMediaTypes?: readonly string[];
  answers: readonly OperationAnswer[];
  errors: readonly ErrorCode[];
  /** The schema of its errors; `Error` if absent. */
  errorSchema?: "Error" | "MessagesError";
  /** The possible statuses of an error; absent: the status in the table of errors. */
  errorStatuses?: (code: ErrorCode) => readonly number[];
};

export const operationGroups = [
  "Inference",
  "Spending",
  "Keys",
  "Top-ups",
  "Webhooks",
  "Signing in",
  "Agents",
  "Settlement",
  "Operation",
  "Documentation",
] as const;

export type Credential = "API key" | "session" | "operator's token";

/** The names in the examples: the gateway, the chains of signed messages, and models. */
export type DocumentedGateway = {
  baseUrl: string;
  /** The primary chain first. */
  chainIds: readonly number[];
  /** Whether a relay sends what programs sign. */
  hasRelay: boolean;
  /** A chat model. */
  model: string;
  /** For coding tools. `why` is a sentence for the reader; null while no prices are in force. */
  coding: { model: string; contextLength: number | null; why: string | null };
};

/** A schema with its name in the document. */
export type NamedSchema = { name: string; schema: z.ZodType };

export type OperationAnswer = {
  status: 200 | 201 | 204 | 304 | 503;
  about: string;
  /** By media type, with a schema for JSON. */
  content: Readonly<Record<string, NamedSchema | null>>;
};

/** An answer of status 200. */
export function ok(about: string, content: OperationAnswer["content"]): OperationAnswer {
  return { status: 200, about, content };
}

/** The content of a JSON answer, with its schema. */
export function json(name: string, schema: z.ZodType): Record<string, NamedSchema> {
  return { "application/json": { name, schema } };
}
