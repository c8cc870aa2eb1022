import { createAgent, createdAgent } from "@inference/sdk";
import * as z from "zod";
import { readUnits } from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { signerOptions } from "../options.ts";
import { paidOutput } from "../paid-output.ts";
import { payOnce } from "../pending.ts";
import { fields } from "../table.ts";

export const agentCreate = command({
  name: "agent create",
  about: "create an agent: its token, a Safe and a treasury",
  more: "The account becomes its owner and gets all of its tokens.",
  arguments: { name: { about: "of the agent's token" }, symbol: { about: "of the agent's token" } },
  options: {
    ...signerOptions,
    supply: { type: "string", value: "tokens", about: "how many tokens it has; 1000000 without it" },
  },
  output: z.strictObject({
    ...paidOutput,
    agent_token: z.string(),
    owner: z.string(),
    safe: z.string(),
    treasury: z.string(),
  }),
  async run(context, { arguments: { name, symbol }, options }) {
    const supplyText = options.supply ?? "1000000";
    const supply = readUnits(supplyText, "--supply");
    const connection = await connectAsOwner(context, options);
    const { hash, isResumed, chainId } = await payOnce(context, connection, {
      intent: `agent create ${JSON.stringify(name)} ${JSON.stringify(symbol)} --supply ${supplyText}`,
      act: (send) => createAgent(connection, { ...send, name, symbol, supply }),
    });
    const { token, owner, safe, treasury } = await createdAgent(connection, hash);
    const paid = { chain_id: chainId, hash, is_resumed: isResumed };
    return { ...paid, agent_token: token, owner, safe, treasury };
  },
  text: ({ agent_token: token, owner, safe, treasury }) =>
    fields([
      ["agent", token],
      ["owner", owner],
      ["Safe", safe],
      ["treasury", treasury],
    ]),
});
