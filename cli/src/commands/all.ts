import type { Command } from "../command.ts";
import { chat } from "./chat.ts";
import { credits } from "./credits.ts";
import { login } from "./login.ts";
import { models } from "./models.ts";
import { quote } from "./quote.ts";
import { receipt } from "./receipt.ts";
import { status } from "./status.ts";
import { usage } from "./usage.ts";

/** Every command, in the order in which the help lists them. */
export const commands: readonly Command[] = [login, chat, credits, usage, receipt, models, quote, status];
