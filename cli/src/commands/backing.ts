import { formatDecimal } from "@inference/protocol/money";
import { claimRewards, payExit, readBackings, readExits, requestedExit, unback } from "@inference/sdk";
import * as z from "zod";
import { agentArgument, findAgent, readUnits } from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsAnyone, connectAsOwner, loginAddress } from "../connections.ts";
import { CommandError, UsageError } from "../errors.ts";
import { dollars } from "../money.ts";
import { chainOptions, gatewayOptions, signerOptions } from "../options.ts";
import { paidOutput, payOnce } from "../pending.ts";
import { table } from "../table.ts";

const exitOutput = {
  exit_id: z.string(),
  agent_token: z.string(),
  amount: z.string().describe("Units."),
  ready_at: z.string(),
};

export const agentBacking = command({
  name: "agent backing",
  about: "what the account backs, may claim, and withdraws",
  arguments: {},
  options: { ...gatewayOptions, ...chainOptions },
  output: z.strictObject({
    backings: z.array(
      z.strictObject({
        agent_token: z.string(),
        amount: z.string().describe("Units."),
        claimable_token: z.string().describe("Units of 1e-6 token."),
      }),
    ),
    exits: z.array(z.strictObject({ ...exitOutput, is_ready: z.boolean() })),
  }),
  async run(context, { options }) {
    const address = loginAddress(context, options);
    const connection = connectAsAnyone(context, options);
    const [backings, exits] = await Promise.all([readBackings(connection, address), readExits(connection, address)]);
    return {
      backings: backings.map(({ agentToken, amount, claimableToken }) => ({
        ...{ agent_token: agentToken, amount: formatDecimal(amount, 18), claimable_token: String(claimableToken) },
      })),
      exits: exits.map((exit) => ({ ...shownExit(exit), is_ready: exit.isReady })),
    };
  },
  text: ({ backings, exits }, columns) => {
    const backed = table(
      ["agent", " units", " rewards"],
      backings.map(({ agent_token: agent, amount, claimable_token: reward }) => {
        return [agent, amount, dollars(BigInt(reward))];
      }),
      { columns, empty: "The account backs no agent." },
    );
    if (exits.length === 0) return backed;
    const asked = table(
      ["exit", " units", "ready", "agent"],
      exits.map((exit) => [exit.exit_id, exit.amount, exit.is_ready ? "now" : exit.ready_at, exit.agent_token]),
      { columns, empty: "" },
    );
    return `${backed}\n\n${asked}\n\`infer agent exit\` pays those that are ready.`;
  },
});

export const agentClaim = command({
  name: "agent claim",
  about: "take the rewards of the account's backing",
  more: "They are tokens: `infer activate` makes balance of them. Rewards of a UTC day are paid out over the next one.",
  arguments: { agent: agentArgument },
  options: signerOptions,
  output: z.strictObject({ ...paidOutput, agent_token: z.string() }),
  async run(context, { arguments: { agent }, options }) {
    const connection = await connectAsOwner(context, options);
    const agentToken = await findAgent(context, connection, agent);
    const paid = await payOnce(context, connection, `agent claim ${agentToken}`, (send) =>
      claimRewards(connection, { ...send, agentToken }),
    );
    return { ...paid, agent_token: agentToken };
  },
  text: ({ hash }) => `The rewards are in the wallet: ${hash}\nNext: \`infer wallet\` shows them.`,
});

export const agentUnstake = command({
  name: "agent unstake",
  about: "withdraw stake from an agent, which takes a day",
  more:
    "It gives its capacity to the end of the UTC day. A day later `infer agent exit` pays it. Rewards stay claimable. " +
    "Stake that was given with --gift cannot be withdrawn.",
  arguments: { agent: agentArgument, amount: { about: "units of the staking token, such as 100" } },
  options: signerOptions,
  output: z.strictObject({ ...paidOutput, ...exitOutput }),
  async run(context, { arguments: { agent, amount }, options }) {
    const units = readUnits(amount, "The amount");
    const connection = await connectAsOwner(context, options);
    const agentToken = await findAgent(context, connection, agent);
    const paid = await payOnce(context, connection, `agent unstake ${agentToken} ${amount}`, (send) =>
      unback(connection, { ...send, agentToken, amount: units }),
    );
    return { ...paid, ...shownExit(await requestedExit(connection, paid.hash)) };
  },
  text: ({ amount, exit_id: id, ready_at: at, hash }) =>
    `${amount} units can be withdrawn from ${at} on: ${hash}\nNext: then \`infer agent exit ${id}\`.`,
});

export const agentExit = command({
  name: "agent exit",
  about: "pay out withdrawn stake after its day",
  arguments: {
    exit: { about: "its number, as `infer agent backing` shows it; the first that is ready", optional: true },
  },
  options: signerOptions,
  output: z.strictObject({ ...paidOutput, exit_id: z.string() }),
  async run(context, { arguments: { exit }, options }) {
    if (exit !== undefined && !/^\d{1,20}$/.test(exit)) throw new UsageError(`An exit is a number, not \`${exit}\`.`);
    const connection = await connectAsOwner(context, options);
    const found = exit ?? String(await firstReady(connection));
    const paid = await payOnce(context, connection, `agent exit ${found}`, (send) =>
      payExit(connection, { ...send, exitId: BigInt(found) }),
    );
    return { ...paid, exit_id: found };
  },
  text: ({ exit_id: id, hash }) => `Exit ${id} is paid: ${hash}`,
});

/** Throws `CommandError` with the time of the next one. */
async function firstReady(connection: Awaited<ReturnType<typeof connectAsOwner>>): Promise<bigint> {
  const exits = await readExits(connection, connection.account.address);
  const ready = exits.find(({ isReady }) => isReady);
  if (ready !== undefined) return ready.exitId;
  const [next] = exits;
  const when = next === undefined ? "`infer agent unstake` begins one" : `the next is from ${next.readyAt} on`;
  throw new CommandError(`Nothing can be withdrawn now: ${when}.`);
}

function shownExit({ exitId, agentToken, amount, readyAt }: Awaited<ReturnType<typeof requestedExit>>) {
  const [id, units] = [String(exitId), formatDecimal(amount, 18)];
  return { exit_id: id, agent_token: agentToken, amount: units, ready_at: readyAt };
}
