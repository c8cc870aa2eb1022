import { setReserve } from "@inference/sdk";
import * as z from "zod";
import { agentArgument, readAgentToken, readUnits } from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { withCents } from "../money.ts";
import { signerOptions } from "../options.ts";
import { paidOutput } from "../paid-output.ts";
import { payOnce } from "../pending.ts";

export const agentReserve = command({
  name: "agent reserve",
  about: "cap how much of an agent's stake is its capacity",
  more: "Its owner may. It counts from the next UTC day on.",
  arguments: { agent: agentArgument, amount: { about: "dollars a day, such as 40; none: no cap" } },
  options: signerOptions,
  output: z.strictObject({ ...paidOutput, agent_token: z.string(), amount: z.string().nullable() }),
  async run(context, { arguments: { agent, amount }, options }) {
    const agentToken = readAgentToken(agent);
    const units = amount === "none" ? null : readUnits(amount, "The amount");
    const connection = await connectAsOwner(context, options);
    const { hash, isResumed, chainId } = await payOnce(context, connection, {
      intent: `agent reserve ${agentToken} ${amount}`,
      act: (send) => setReserve(connection, { ...send, agentToken, amount: units }),
    });
    const paid = { chain_id: chainId, hash, is_resumed: isResumed };
    return { ...paid, agent_token: agentToken, amount: units === null ? null : amount };
  },
  text: ({ agent_token: agent, amount }) =>
    `From the next UTC day on ${agent} has ${amount === null ? "no cap" : `at most $${withCents(amount)} a day`}.`,
});
