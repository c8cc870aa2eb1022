import { ClientError, type Connection } from "@inference/sdk";
import { type ChatUsage, streamChat } from "@inference/sdk/chat-stream";
import type { Context } from "./context.ts";
import { CommandError } from "./errors.ts";
import { wrapParts } from "./layout.ts";
import { usd } from "./money.ts";
import { keepReceipt } from "./receipt-log.ts";

export type Message = { role: "system" | "user" | "assistant"; content: string };
export type Answer = Awaited<ReturnType<typeof answerOf>>;

/** Asks, streams the answer to the terminal, then shows its cost. A stopped answer is the text received until then. */
export async function answerOf(
  context: Context,
  connection: Connection & { apiKey: string },
  body: { model: string; messages: readonly Message[]; max_tokens: number },
) {
  let [receipt, model, text, reason] = ["", body.model, "", null as string | null];
  let usage: ChatUsage | undefined;
  const screen = wrapParts(context.stdout.columns ?? Number.POSITIVE_INFINITY);
  let isStopped = false;
  await context.untilStopped(async (signal) => {
    try {
      for await (const part of streamChat(connection, { apiKey: connection.apiKey, body, signal })) {
        receipt = part.receipt ?? receipt;
        context.write(screen.next(part.text ?? ""));
        text += part.text ?? "";
        model = part.model ?? model;
        reason = part.finish ?? reason;
        usage = part.usage ?? usage;
        if (part.signed !== undefined) keepReceipt(context, part.signed);
      }
    } catch (error) {
      if (signal.aborted) isStopped = true;
      else if (!(error instanceof ClientError) || receipt === "") throw error;
      else throw new CommandError(`${error.message} \`infer receipt ${receipt}\` shows its cost.`);
    } finally {
      context.write(screen.end());
    }
  });
  context.write(text.endsWith("\n") ? "" : "\n");
  const { input = null, output = null, nanoUsd: cost = null } = usage ?? ({} as Partial<ChatUsage>);
  const paid =
    cost === null ? "its cost is in the receipt" : `${usd(cost)} for ${input} input and ${output} output tokens`;
  const cut = reason === "length" ? " It was cut off: --max-tokens allows more." : "";
  const stopped = isStopped ? " You stopped it." : "";
  context.say(`${model}: ${paid}. Receipt ${receipt === "" ? "none" : receipt}.${cut}${stopped}`);
  return {
    ...{ receipt, model, text, finish_reason: reason },
    ...{ prompt_tokens: input, completion_tokens: output, cost_nano_usd: cost },
  };
}
