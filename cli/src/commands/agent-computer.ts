import { setComputer } from "@inference/sdk";
import * as z from "zod";
import { agentArgument, computerOptions, makeKeyFile, namedComputer, readAgentToken } from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { signerOptions } from "../options.ts";
import { paidOutput } from "../paid-output.ts";
import { payOnce } from "../pending.ts";

export const agentComputer = command({
  name: "agent computer",
  about: "name the key that signs an agent's offers",
  more: "Its owner may. A --computer-key-file that does not exist is made, with a new key.",
  arguments: { agent: agentArgument },
  options: { ...signerOptions, ...computerOptions, remove: { type: "boolean", about: "it shall have none" } },
  output: z.strictObject({ ...paidOutput, agent_token: z.string(), computer: z.string().nullable() }),
  async run(context, { arguments: { agent }, options }) {
    const agentToken = readAgentToken(agent);
    const connection = await connectAsOwner(context, options);
    const file = options["computer-key-file"];
    if (options.remove !== true && file !== undefined) makeKeyFile(context, file);
    const computer = options.remove === true ? null : await namedComputer(context, options);
    const named = computer?.address ?? null;
    const { hash, isResumed, chainId } = await payOnce(context, connection, {
      intent: `agent computer ${agentToken} ${named ?? "--remove"}`,
      act: (send) => setComputer(connection, { ...send, agentToken, computer }),
    });
    return { chain_id: chainId, hash, is_resumed: isResumed, agent_token: agentToken, computer: named };
  },
  text: ({ agent_token: agent, computer }) =>
    computer === null ? `${agent} has no computer.` : `${computer} is the computer of ${agent}.`,
});
