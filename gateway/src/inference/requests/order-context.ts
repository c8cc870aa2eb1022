import type { PriceSnapshot } from "@inference/protocol/model";
import type { LongTexts } from "./long-text.ts";

/** What an order needs besides the client's body. */
export type OrderContext = {
  /** What short strings of the body stand in for; null for a body that was parsed whole. */
  texts: LongTexts | null;
  snapshot: PriceSnapshot;
  /** Our own names for models, alias to id; they resolve before ids. */
  aliases: Readonly<Record<string, string>>;
  /**
   * The account's pseudonym, sent as `user` where the route has it: one customer's bad requests then lock out nobody
   * else.
   */
  user: string;
  /**
   * The operator's fields for every chat body, such as those that switch hidden prompts off. They win over the
   * client's.
   */
  chatExtras: Readonly<Record<string, unknown>>;
  /** What the provider calls the output limit; `max_completion_tokens` unless the operator says otherwise. */
  chatOutputField?: "max_tokens" | "max_completion_tokens";
};
