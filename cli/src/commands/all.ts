import type { Command } from "../command.ts";
import { activate } from "./activate.ts";
import { agentComputer, agentCreate, agentEarnings, agentOffer, agentReserve, agentStake } from "./agent.ts";
import { autoTopUp, autoTopUpEnd, autoTopUpSet } from "./auto-top-up.ts";
import { agentBacking, agentClaim, agentExit, agentUnstake } from "./backing.ts";
import { bill } from "./bill.ts";
import { bridge } from "./bridge.ts";
import { chat } from "./chat.ts";
import { completionFor } from "./completion.ts";
import { credits } from "./credits.ts";
import { keysCreate, keysLimit, keysList, keysRevoke, keysRoll, keysShow } from "./keys.ts";
import { login } from "./login.ts";
import { mint } from "./mint.ts";
import { models } from "./models.ts";
import { pay } from "./pay.ts";
import { quote } from "./quote.ts";
import { receipt } from "./receipt.ts";
import { resume } from "./resume.ts";
import { logout, open, whoami } from "./session.ts";
import { setup } from "./setup.ts";
import { status } from "./status.ts";
import { usage } from "./usage.ts";
import { verify } from "./verify.ts";
import { wallet } from "./wallet.ts";
import { webhooksAdd, webhooksList, webhooksLog, webhooksRemove, webhooksTest } from "./webhooks.ts";

const groups: Readonly<Record<string, readonly Command[]>> = {
  Money: [wallet, pay, mint, activate, bridge, autoTopUp, autoTopUpSet, autoTopUpEnd, credits, resume],
  Keys: [keysCreate, keysList, keysLimit, keysRoll, keysRevoke, keysShow],
  Ask: [chat, models, quote],
  Check: [usage, receipt, bill, verify, status],
  Agents: [
    ...[agentCreate, agentStake, agentReserve, agentComputer, agentOffer, agentEarnings],
    ...[agentBacking, agentClaim, agentUnstake, agentExit],
  ],
  Webhooks: [webhooksAdd, webhooksList, webhooksTest, webhooksLog, webhooksRemove],
  Setup: [login, whoami, logout, setup, open, completionFor(() => commands)],
};

/** Every command, in the order in which the help lists them. */
export const commands: readonly Command[] = Object.entries(groups).flatMap(([group, listed]) =>
  listed.map((each) => ({ ...each, group })),
);
