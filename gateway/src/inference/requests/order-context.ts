import type { PriceSnapshot } from "@inference/protocol/model";
import type { Aliases } from "../../catalogue/aliases.ts";
import type { ReasoningSeal } from "../answer/reasoning-seal.ts";

/** The other parts of an order, besides the client's body. */
export type OrderContext = {
  snapshot: PriceSnapshot;
  /** They take precedence over ids. */
  aliases: Aliases;
  /**
   * The account's pseudonym, sent as `user` if the endpoint has that field: the provider can then block one customer
   * without the others.
   */
  user: string;
  /** The partition of the account or identity. */
  account: string;
  /** Opens the reasoning of earlier answers. */
  reasoningSeal: ReasoningSeal;
  /** The output limit of a Responses request that has none. */
  defaultOutputTokens: number;
  /**
   * The operator's fields for every chat body, such as those that switch hidden prompts off. They win over the
   * client's.
   */
  chatExtras: Readonly<Record<string, unknown>>;
  /** The provider's name for the output limit; `max_completion_tokens` if the operator did not set it. */
  chatOutputField?: "max_tokens" | "max_completion_tokens";
};
