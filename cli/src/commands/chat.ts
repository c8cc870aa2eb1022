import * as z from "zod";
import { answerOf, type Message } from "../chat-answer.ts";
import { cheapestModel } from "../cheapest-model.ts";
import { command } from "../command.ts";
import { connectWithKey } from "../connections.ts";
import type { Context } from "../context.ts";
import { converse } from "../conversation.ts";
import { UsageError } from "../errors.ts";
import { gatewayOptions, keyOptions } from "../options.ts";

const MAX_TOKENS = 1_024;

export const chat = command({
  name: "chat",
  about: "ask a model, see the answer come, and what it cost",
  more:
    'What is piped to it follows the prompt: `infer chat "Summarise this." < notes.txt`. Without either, at a terminal,\n' +
    "it becomes a conversation, with /model, /cost and /help. Ctrl-C stops an answer, Ctrl-D ends the conversation.",
  arguments: { prompt: { about: "what to ask", optional: true } },
  options: {
    ...gatewayOptions,
    ...keyOptions,
    model: { type: "string", value: "model", about: "else $INFERENCE_MODEL, or the cheapest that writes text" },
    system: { type: "string", value: "text", about: "how it is to answer" },
    "max-tokens": { type: "string", value: "tokens", about: `the most that it may write; ${MAX_TOKENS} without it` },
  },
  output: z.strictObject({
    receipt: z.string(),
    model: z.string(),
    text: z.string().describe("The last answer."),
    finish_reason: z.string().nullable(),
    prompt_tokens: z.int().nullable(),
    completion_tokens: z.int().nullable(),
    cost_nano_usd: z.int().nullable().describe("Null: the answer did not say. The receipt does."),
  }),
  async run(context, { arguments: { prompt }, options }) {
    const connection = connectWithKey(context, options);
    const model = options.model ?? (context.environment.INFERENCE_MODEL || (await cheapestModel(context, connection)));
    const maxTokens = options["max-tokens"] ?? String(MAX_TOKENS);
    if (!/^[1-9]\d{0,6}$/.test(maxTokens)) throw new UsageError(`--max-tokens takes a number, not \`${maxTokens}\`.`);
    const given = await readPrompt(context, prompt);
    const messages: Message[] = options.system === undefined ? [] : [{ role: "system", content: options.system }];
    const body = { model, messages, max_tokens: Number(maxTokens) };
    if (given === undefined) return converse(context, connection, body);
    messages.push({ role: "user", content: given });
    return answerOf(context, connection, body);
  },
});

/** The prompt, followed by piped text; undefined: ask the terminal. */
async function readPrompt({ readInput }: Context, prompt: string | undefined): Promise<string | undefined> {
  const piped = await readInput();
  if (prompt === undefined && piped === undefined) return undefined;
  const parts = [prompt, piped].filter((part) => part !== undefined && part.trim() !== "");
  if (parts.length === 0) throw new UsageError("There is nothing to ask: `infer chat` needs a prompt.");
  return parts.join("\n\n");
}
