import type { Command } from "../command.ts";
import { activate } from "./activate.ts";
import { agentComputer, agentCreate, agentEarnings, agentOffer, agentReserve, agentStake } from "./agent.ts";
import { bill } from "./bill.ts";
import { bridge } from "./bridge.ts";
import { chat } from "./chat.ts";
import { credits } from "./credits.ts";
import { keysCreate, keysLimit, keysList, keysRevoke, keysRoll, keysShow } from "./keys.ts";
import { login } from "./login.ts";
import { mint } from "./mint.ts";
import { models } from "./models.ts";
import { quote } from "./quote.ts";
import { receipt } from "./receipt.ts";
import { resume } from "./resume.ts";
import { setup } from "./setup.ts";
import { status } from "./status.ts";
import { usage } from "./usage.ts";
import { verify } from "./verify.ts";
import { wallet } from "./wallet.ts";
import { webhooksAdd, webhooksList, webhooksLog, webhooksRemove, webhooksTest } from "./webhooks.ts";

/** Every command, in the order in which the help lists them. */
export const commands: readonly Command[] = [
  login,
  wallet,
  mint,
  activate,
  bridge,
  resume,
  keysCreate,
  keysList,
  keysLimit,
  keysRoll,
  keysRevoke,
  keysShow,
  webhooksAdd,
  webhooksList,
  webhooksTest,
  webhooksLog,
  webhooksRemove,
  chat,
  credits,
  usage,
  receipt,
  models,
  quote,
  bill,
  verify,
  status,
  setup,
  agentCreate,
  agentStake,
  agentReserve,
  agentComputer,
  agentOffer,
  agentEarnings,
];
