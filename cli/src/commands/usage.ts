import { type ActivityTotal, readActivity } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectWithKey } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { nameOfKey } from "../key-names.ts";
import { usd } from "../money.ts";
import { gatewayOptions, keyOptions } from "../options.ts";
import { table } from "../table.ts";

const groups = ["day", "model", "key", "tag"] as const;
type Group = (typeof groups)[number];

export const usage = command({
  name: "usage",
  about: "what was spent, by day, model, key and tag",
  arguments: {},
  options: {
    ...gatewayOptions,
    ...keyOptions,
    by: { type: "string", value: "what", about: "any of day,model,key,tag; day without it" },
    from: { type: "string", value: "day", about: "a UTC day such as 2026-11-23; 30 days ago without it" },
    to: { type: "string", value: "day", about: "the last day; today without it" },
  },
  output: z.strictObject({
    totals: z.array(
      z.strictObject({
        date: z.string().optional(),
        model: z.string().nullable().optional(),
        key_id: z.string().nullable().optional(),
        key_name: z.string().optional().describe("If the key was seen here."),
        tag: z.string().nullable().optional(),
        requests: z.int(),
        usage: z.number(),
        usage_nano_usd: z.int(),
        prompt_tokens: z.int(),
        completion_tokens: z.int(),
      }),
    ),
  }),
  async run(context, { options }) {
    const groupBy = (options.by ?? "day").split(",");
    const wrong = groupBy.find((group) => !groups.includes(group as Group));
    if (wrong !== undefined) throw new UsageError(`--by takes any of ${groups.join(",")}, not \`${wrong}\`.`);
    const { from, to } = options;
    const query = { groupBy: groupBy as Group[], from, to };
    const totals = await readActivity(connectWithKey(context, options), query);
    return {
      totals: totals.map((total) => {
        const name = total.key_id == null ? undefined : nameOfKey(context, total.key_id);
        return { ...total, ...(name === undefined ? {} : { key_name: name }) };
      }),
    };
  },
  text({ totals }, columns) {
    const sum = totals.reduce((total, { usage_nano_usd: usage }) => total + usage, 0);
    const rows = totals.map((total) => [
      ...namesOf(total as Parameters<typeof namesOf>[0]),
      String(total.requests),
      String(total.prompt_tokens),
      String(total.completion_tokens),
      usd(total.usage_nano_usd),
    ]);
    const names = ["date", "model", "key_id", "tag"].filter((name) =>
      totals.some((total) => Object.hasOwn(total, name)),
    );
    const titles = [...names.map((name) => name.replace("_id", "")), " requests", " input", " output", " spent"];
    return `${table(titles, rows, { columns, empty: "Nothing was spent." })}\nTogether ${usd(sum)}`;
  },
});

function namesOf({ date, model, key_id: id, key_name: name, tag }: ActivityTotal & { key_name?: string }): string[] {
  const key = name === undefined ? id : `${name} (${id})`;
  return [date, model, key, tag].flatMap((name) => (name === undefined ? [] : [name ?? "-"]));
}
