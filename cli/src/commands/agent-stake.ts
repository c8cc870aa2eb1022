import { stake } from "@inference/sdk";
import * as z from "zod";
import { agentArgument, readAgentToken, readUnits } from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { signerOptions } from "../options.ts";
import { paidOutput } from "../paid-output.ts";
import { payOnce } from "../pending.ts";

export const agentStake = command({
  name: "agent stake",
  about: "stake under an agent: a dollar of capacity a day for each unit",
  more:
    "It counts from the next UTC day on. It goes through the backers' vault: the account can withdraw it, and gets a\n" +
    "share of the tokens that the agent's fees mint. With --gift it is the agent's for good.",
  arguments: { agent: agentArgument, amount: { about: "units of the staking token, such as 100" } },
  options: { ...signerOptions, gift: { type: "boolean", about: "for good, and without a share" } },
  output: z.strictObject({ ...paidOutput, agent_token: z.string(), amount: z.string().describe("Units.") }),
  async run(context, { arguments: { agent, amount }, options }) {
    const agentToken = readAgentToken(agent);
    const units = readUnits(amount, "The amount");
    const as = options.gift === true ? "gift" : "back";
    const connection = await connectAsOwner(context, options);
    const { hash, isResumed, chainId } = await payOnce(context, connection, {
      intent: `agent stake ${agentToken} ${amount}${as === "gift" ? " --gift" : ""}`,
      act: (send) => stake(connection, { ...send, agentToken, amount: units, as }),
    });
    return { chain_id: chainId, hash, is_resumed: isResumed, agent_token: agentToken, amount };
  },
  text: ({ agent_token: agent, amount, hash }) => `${amount} units are staked under ${agent}: ${hash}`,
});
