import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { beginPaying } from "../one-payer.ts";
import { signerOptions } from "../options.ts";
import { finish, forget, pendingOf } from "../pending.ts";
import { table } from "../table.ts";

export const resume = command({
  name: "resume",
  about: "finish what was interrupted",
  more: "A command that pays does this first, too. Without it, what was signed and not sent yet is never sent.",
  arguments: {},
  options: {
    ...signerOptions,
    forget: {
      type: "boolean",
      about: "drop it instead. What was sent already happens all the same: look at it first",
    },
  },
  output: z.strictObject({
    finished: z.array(
      z.strictObject({
        command: z.string(),
        step: z.string(),
        chain_id: z.int(),
        hash: z.string(),
        outcome: z.enum(["done", "nothing", "forgotten"]).describe("`nothing`: it paid nothing, and never will."),
      }),
    ),
  }),
  async run(context, { options }) {
    const connection = await connectAsOwner(context, options);
    const finished = [];
    const endPaying = beginPaying(context, connection.account.address);
    try {
      for (const left of pendingOf(context, connection)) {
        const { intent, signed } = left;
        const done = options.forget === true ? undefined : await finish(context, connection, left);
        forget(context, left);
        const outcome = options.forget === true ? "forgotten" : done === undefined ? "nothing" : "done";
        const { step, chainId, hash } = signed;
        finished.push({ command: `infer ${intent}`, step, chain_id: chainId, hash, outcome } as const);
      }
      return { finished };
    } finally {
      endPaying();
    }
  },
  text: ({ finished }, columns) =>
    table(
      ["command", "step", "chain", "outcome", "transaction"],
      finished.map(({ command, step, chain_id: chain, outcome, hash }) => [
        command,
        step,
        String(chain),
        outcome,
        hash,
      ]),
      { columns, empty: "Nothing was interrupted." },
    ),
});
