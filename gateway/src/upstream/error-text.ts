import * as z from "zod";
import { parseJson } from "../json-object.ts";
import type { SecretFilter } from "./secret-writings.ts";

/** The message of a provider's error body, in any of the shapes that providers use. */
type ErrorText = {
  /** The provider's code, empty if there is none. */
  code: string;
  /** The provider's sentences, empty if there are none. */
  text: string;
  /** A moderation gives its reasons, or suggests another prompt. */
  isFlagged: boolean;
};

const text = z.string().catch("");
/** One wrong field, as FastAPI and zod report it. */
const issue = z.object({
  loc: z.array(z.union([z.string(), z.number()])).optional(),
  path: z.array(z.union([z.string(), z.number()])).optional(),
  msg: text,
  message: text,
});
const issues = z.array(issue).catch([]);
const inner = z.object({
  message: text,
  code: text,
  type: text,
  metadata: z
    .object({ reasons: z.array(z.unknown()) })
    .optional()
    .catch(undefined),
});
const schema = z.object({
  error: z.union([z.string(), inner]).optional().catch(undefined),
  message: text,
  code: text,
  detail: z.union([z.string(), issues]).optional().catch(undefined),
  issues,
  suggested_prompt: z.string().optional().catch(undefined),
});

/** Issues of one error that are told. */
const MOST_ISSUES = 3;

export function readErrorText(body: string): ErrorText {
  const parsed = schema.safeParse(parseJson(body));
  if (!parsed.success) return { code: "", text: "", isFlagged: false };
  const { error, message, code, detail, issues: listed, suggested_prompt } = parsed.data;
  const object = typeof error === "object" ? error : undefined;
  const details = [...(Array.isArray(detail) ? detail : []), ...listed].slice(0, MOST_ISSUES).map(sentenceOf);
  const main = typeof error === "string" ? error : (object?.message ?? (message || textOf(detail)));
  return {
    code: object === undefined ? code : object.code || object.type,
    text: [main, ...details].filter((part) => part !== "").join("; "),
    isFlagged: object?.metadata !== undefined || suggested_prompt !== undefined,
  };
}

function sentenceOf({ loc, path, msg, message }: z.infer<typeof issue>): string {
  const where = (loc ?? path ?? []).filter((part) => part !== "body").join(".");
  const what = msg || message;
  return where === "" ? what : `${where}: ${what}`;
}

function textOf(detail: unknown): string {
  return typeof detail === "string" ? detail : "";
}

const MAX_MESSAGE = 300;

/**
 * Makes a provider's text safe to show to a client: removes the operator's keys, and everything that
 * looks like a key or a link, and shortens it to one line.
 */
export function scrub(text: string, secrets: SecretFilter): string {
  return secrets
    .remove(text)
    .replace(/\b(sk|pk|key|org|proj)[-_][\w-]{8,}/gi, "[removed]")
    .replace(/\b[\w-]{32,}\b/g, "[removed]")
    .replace(/https?:\/\/\S+/g, "[link]")
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, MAX_MESSAGE);
}
