import { AGENT, type Agent, createAgent } from "./agents.ts";
import type { Chains } from "./chains.ts";
import type { DevnetClock } from "./clock.ts";
import type { Computers } from "./computers.ts";
import type { Command } from "./control.ts";
import { goToNextDay } from "./day.ts";
import type { Deployment } from "./deployment.ts";
import { fund } from "./faucet.ts";
import type { Processes } from "./processes.ts";
import { LOCAL_CHAIN_NAMES } from "./third-parties/local-chains.ts";

export type Running = {
  chains: Chains;
  deployment: Deployment;
  clock: DevnetClock;
  processes: Processes;
  /** Moves the provider simulator to the new day; absent with a provider of the user's own. */
  provider?: () => Promise<void>;
  computers: Computers;
  /** Writes `ready.json` again. */
  changed(): void;
};

export function devnetCommands(running: Running): Record<string, Command> {
  const { chains, deployment, clock, processes, provider, computers, changed } = running;
  return {
    async day(_args, say) {
      const midnight = await goToNextDay({
        ...{ chains: LOCAL_CHAIN_NAMES.map((name) => chains[name]), clock, processes },
        ...(provider === undefined ? {} : { provider }),
      });
      changed();
      const text = new Date(midnight * 1_000).toISOString();
      say(`It is ${text} on the three chains and at the gateway, ${days(clock.offsetMs)} ahead of this machine.`);
      say("Messages to sign in or to make a key are signed with this time (clockOffsetMs in ready.json).");
    },
    async agent(_args, say) {
      const name = `Agent ${computers.nextPlace()}`;
      const agent = await createAgent(chains.primary, { deployment: deployment.primary, name });
      const ended = await computers.add(agent);
      for (const line of agentLines(agent)) say(line);
      if (ended !== undefined) throw ended;
      say("It sells all of it from the next UTC day on, when its stake counts: npm run devnet -- day takes you there.");
    },
    faucet: ([text = ""], say) => fund({ chains, deployment }, { text, say }),
  };
}

function agentLines({ name, token, owner, computer, safe, treasury }: Agent): string[] {
  return [
    `${name}, with ${AGENT.stakedUnits} units staked under it:`,
    `  agent token  ${token}`,
    `  owner        ${owner.address}`,
    `  computer     ${computer.address}`,
    `  Safe         ${safe}`,
    `  treasury     ${treasury}`,
    "  keys         in agents.json of the devnet's folder",
  ];
}

function days(offsetMs: number): string {
  return `${(offsetMs / 86_400_000).toFixed(2)} days`;
}
