import * as z from "zod";

/** The query of GET /activity: which receipts, and whether they are listed or added up. */
export const MAX_ACTIVITY_LIMIT = 1_000;
export const MAX_ACTIVITY_DAYS = 366;

export const activityQuery = z.strictObject({
  from: z.iso.date().optional().describe("The first UTC day, like 2026-11-01; by default 29 days before the last."),
  to: z.iso.date().optional().describe("The last UTC day; by default today. At most 366 days in all."),
  group_by: z
    .string()
    .regex(
      /^(day|model|key|tag)(,(day|model|key|tag))*$/,
      "expected any of day, model, key and tag, with commas between",
    )
    .optional()
    .describe("Totals in place of requests: any of `day`, `model`, `key` and `tag`, separated by commas."),
  model: z.string().min(1).optional().describe("Only requests of this model."),
  key_id: z.string().min(1).optional().describe("Only requests of this API key."),
  tag: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Only requests with this `X-Title`. Totals have the first 32 tags of each day and key by name, counted once for " +
        "each model; later ones are in `other`. A free request has no tag in totals.",
    ),
  budget: z
    .enum(["balance", "capacity"])
    .optional()
    .describe("With a session: what the wallet's keys spent of its balance, or what sessions spent of the capacity."),
  limit: z.coerce.number().int().min(1).max(MAX_ACTIVITY_LIMIT).default(100).describe("Requests on a page."),
  cursor: z.string().min(1).optional().describe("The `next_cursor` of the page before."),
  format: z.enum(["json", "csv"]).optional().describe("As JSON or as CSV; `Accept: text/csv` says the same."),
});
export type ActivityQuery = z.infer<typeof activityQuery>;
export const activityGroups = ["day", "model", "key", "tag"] as const;
export type ActivityGroup = (typeof activityGroups)[number];
