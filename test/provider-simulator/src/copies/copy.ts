/**
 * A small copy of one provider's API, as its documents describe it: the answers are data, `server.ts` gives them.
 * The sources are those that the gateway's profile of the same name lists.
 */
export type ProviderCopy = {
  /** The path of its base URL. */
  basePath: string;
  /** Whether it asks for a key. */
  hasKey: boolean;
  /** The answer to GET /models. */
  catalogue: object;
  /** The fields that limit the output. */
  limitFields: readonly string[];
  /** The fields of a chat request, if it refuses others. */
  fields?: readonly string[];
  /** Tokens of a prompt that the provider adds. */
  hiddenTokens?(body: Body): number;
  usage(counts: Counts): object;
  /** Members beside the usage. */
  beside?(counts: Counts): object;
  /** Members of each chunk of a stream. */
  inChunks?: object;
  /** The first line of a stream. */
  comment?: string;
  /** Its errors, by cause. A request asks for one with the text `[[cause]]`. */
  errors: Partial<Record<ErrorCause, CopyError>>;
  /** The record of its charges: the answer to a query with a key for administrators. */
  billing?: { path: string; answer(query: URLSearchParams): object };
  /** Its other paid paths. */
  others?: Readonly<Record<string, (body: Body) => { type?: string; headers?: Record<string, string>; body: string }>>;
};

export type Body = Readonly<Record<string, unknown>>;
export type Counts = { prompt: number; completion: number };
export type ErrorCause = "context" | "flagged" | "invalid" | "gone" | "busy" | "credit" | "denied" | "down";
export type CopyError = { status: number; headers?: Record<string, string>; body: object };
