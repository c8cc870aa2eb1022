import { ClientError, type Connection } from "@inference/sdk";
import { type ChatChunk, streamChat } from "@inference/sdk/chat-stream";
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
  let usage: ChatChunk["usage"] = null;
  const screen = wrapParts(context.stdout.columns ?? Number.POSITIVE_INFINITY);
  let isStopped = false;
  await context.untilStopped(async (signal) => {
    try {
      for await (const chunk of streamChat(connection, { apiKey: connection.apiKey, body, signal })) {
        if ("receipt" in chunk) {
          receipt = chunk.receipt;
          continue;
        }
        const [choice] = chunk.choices ?? [];
        const part = choice?.delta?.content ?? "";
        context.write(screen.next(part));
        text += part;
        model = chunk.model ?? model;
        reason = choice?.finish_reason ?? reason;
        usage = chunk.usage ?? usage;
        if (chunk.usage?.receipt !== undefined) keepReceipt(context, chunk.usage.receipt);
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
  const { prompt_tokens: input = null, completion_tokens: output = null, cost_nano_usd: cost = null } = usage ?? {};
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
