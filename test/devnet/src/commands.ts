import { LOCAL_CHAIN_NAMES } from "@inference/contracts/local-chains";
import type { Chains } from "./chains.ts";
import type { DevnetClock } from "./clock.ts";
import type { Command } from "./control.ts";
import { goToNextDay } from "./day.ts";
import type { Deployment } from "./deployment.ts";
import { fund } from "./faucet.ts";
import type { Services } from "./services.ts";

/** What a running devnet's commands need. */
export type Running = {
  chains: Chains;
  deployment: Deployment;
  clock: DevnetClock;
  services: Services;
  /** Tells the provider simulator that the day has changed; absent with a provider of the user's own. */
  provider?: () => Promise<void>;
  /** Writes `ready.json` again. */
  changed(): void;
};

export function devnetCommands(running: Running): Record<string, Command> {
  const { chains, deployment, clock, services, provider, changed } = running;
  return {
    async day(_args, say) {
      const midnight = await goToNextDay({
        ...{ chains: LOCAL_CHAIN_NAMES.map((name) => chains[name]), clock, services },
        ...(provider === undefined ? {} : { provider }),
      });
      changed();
      const text = new Date(midnight * 1_000).toISOString();
      say(`It is ${text} on the three chains and at the gateway, ${days(clock.offsetMs)} ahead of this machine.`);
      say("Messages to sign in or to make a key are signed with this time (clockOffsetMs in ready.json).");
    },
    faucet: ([text = ""], say) => fund({ chains, deployment }, { text, say }),
  };
}

function days(offsetMs: number): string {
  return `${(offsetMs / 86_400_000).toFixed(2)} days`;
}
