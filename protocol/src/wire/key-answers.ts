import * as z from "zod";
import { keyLimitNames } from "../key-limit.ts";
import { dollarWindows, limitResets } from "../window.ts";
import { address, amounts, amountsOrNull, count, time } from "./fields.ts";

/** The answers about keys and sessions, see `answers.ts`. */
const key = z.strictObject({
  id: z.string(),
  name: z.string(),
  label: z.string().describe("First and last characters of the key."),
  disabled: z.boolean(),
  ...amountsOrNull("limit", "limit_remaining"),
  limit_reset: z.enum(limitResets).nullable(),
  resets_at: time.nullable(),
  ...amounts("usage", "reserved"),
  created_at: time,
  expires_at: time.nullable(),
  limits: z
    .array(
      z.strictObject({
        name: z.enum(keyLimitNames),
        unit: z.enum(["nano_usd", "requests", "tokens"]),
        ...{ limit: count, used: count, reserved: count, remaining: count },
        resets_at: time.nullable(),
      }),
    )
    .describe("All limits of the key. The first one in dollars is also under `limit`."),
  models: z.array(z.string()).nullable().describe("Ids of models, or beginnings with `*`; null: all models."),
  private: z.boolean().describe("Whether it may use models alone that the provider calls private."),
});

export const keyAnswer = z.strictObject({ data: key });
export const keysAnswer = z.strictObject({ data: z.array(key) });
export const newKeyAnswer = z.strictObject({ key: z.string().describe("Shown this once."), data: key });
export const deletedAnswer = z.strictObject({ deleted: z.literal(true) });

const budget = z.strictObject({
  name: z.enum(["balance", "key", "capacity", "ceiling"]),
  window: z.enum(dollarWindows),
  ...amountsOrNull("limit"),
  ...amounts("usage", "reserved"),
  ...amountsOrNull("remaining"),
  resets_at: time.nullable(),
});

const whatBinds = {
  budgets: z.array(budget).describe("In the order in which they refuse."),
  binds_first: budget.shape.name.nullable().describe("The budget with the least left."),
  is_free_tier: z.literal(false),
  is_management_key: z.literal(false),
};

const ownKey = z.strictObject({
  ...key.shape,
  ...amounts("usage_daily", "usage_monthly"),
  ...whatBinds,
});

const ownSession = z.strictObject({
  ...key.omit({ id: true, name: true, disabled: true, limits: true, models: true, private: true }).shape,
  address: address.describe("Of the wallet that signed in."),
  agent_token: address.nullable().describe("The agent that the session speaks for."),
  label: z.string().describe("Whose capacity it is: the agent's token, or the wallet."),
  expires_at: time,
  ...whatBinds,
});

export const ownKeyAnswer = z.strictObject({ data: z.union([ownKey, ownSession]) });
