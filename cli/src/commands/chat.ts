import type { Connection } from "@inference/sdk";
import * as z from "zod";
import { type ChatChunk, streamChat } from "../chat-stream.ts";
import { cheapestModel } from "../cheapest-model.ts";
import { command } from "../command.ts";
import { connectWithKey } from "../connections.ts";
import type { Context } from "../context.ts";
import { CommandError, UsageError } from "../errors.ts";
import { usd } from "../money.ts";
import { gatewayOptions, keyOptions } from "../options.ts";
import { keepReceipt } from "../receipt-log.ts";

const MAX_TOKENS = 1_024;

export const chat = command({
  name: "chat",
  about: "ask a model, see the answer come, and what it cost",
  more:
    'What is piped to it follows the prompt: `infer chat "Summarise this." < notes.txt`. Without either, at a terminal,\n' +
    "it becomes a conversation, which an empty line ends.",
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
    const ask = async (content: string) => {
      messages.push({ role: "user", content });
      const answer = await answerOf(context, connection, { model, messages, max_tokens: Number(maxTokens) });
      messages.push({ role: "assistant", content: answer.text });
      return answer;
    };
    return given === undefined ? converse(context, ask) : ask(given);
  },
});

/** The prompt, followed by piped text; undefined: ask the terminal. */
async function readPrompt({ readInput }: Context, prompt: string | undefined): Promise<string | undefined> {
  const piped = await readInput();
  if (prompt === undefined && piped === undefined) return undefined;
  const parts = [prompt, piped].filter((part) => part !== undefined && part.trim() !== "");
  if (parts.length === 0) throw new UsageError(NOTHING);
  return parts.join("\n\n");
}

/** Asks at the terminal until an empty line or the end of its input. Returns the last answer. */
async function converse({ ask: askTerminal, say }: Context, ask: (content: string) => Promise<Answer>) {
  say("An empty line ends the conversation.");
  const answers: Answer[] = [];
  for (;;) {
    const line = ((await askTerminal("> ")) ?? "").trim();
    if (line === "") break;
    answers.push(await ask(line));
  }
  const last = answers.at(-1);
  if (last === undefined) throw new UsageError(NOTHING);
  const costs = answers.map(({ cost_nano_usd: cost }) => cost);
  const total = costs.includes(null) ? "" : ` for ${usd(costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0))}`;
  say(`${answers.length} ${answers.length === 1 ? "answer" : "answers"}${total}.`);
  return last;
}

const NOTHING = "There is nothing to ask: `infer chat` needs a prompt.";

type Answer = Awaited<ReturnType<typeof answerOf>>;
type Message = { role: "system" | "user" | "assistant"; content: string };

async function answerOf(
  context: Context,
  connection: Connection & { apiKey: string },
  body: { model: string; messages: readonly Message[]; max_tokens: number },
) {
  let [receipt, model, text, reason] = ["", body.model, "", null as string | null];
  let usage: ChatChunk["usage"] = null;
  for await (const chunk of streamChat(connection, body)) {
    if ("receipt" in chunk) {
      receipt = chunk.receipt;
      continue;
    }
    if (chunk.error !== undefined) {
      throw new CommandError(
        `The answer broke off: ${chunk.error.message} \`infer receipt ${receipt}\` shows its cost.`,
      );
    }
    const [choice] = chunk.choices ?? [];
    const part = choice?.delta?.content ?? "";
    context.write(part);
    text += part;
    model = chunk.model ?? model;
    reason = choice?.finish_reason ?? reason;
    usage = chunk.usage ?? usage;
    if (chunk.usage?.receipt !== undefined) keepReceipt(context, chunk.usage.receipt);
  }
  context.write(text.endsWith("\n") ? "" : "\n");
  const { prompt_tokens: input = null, completion_tokens: output = null, cost_nano_usd: cost = null } = usage ?? {};
  const paid =
    cost === null ? "its cost is in the receipt" : `${usd(cost)} for ${input} input and ${output} output tokens`;
  const cut = reason === "length" ? " It was cut off: --max-tokens allows more." : "";
  context.say(`${model}: ${paid}. Receipt ${receipt}.${cut}`);
  return {
    ...{ receipt, model, text, finish_reason: reason },
    ...{ prompt_tokens: input, completion_tokens: output, cost_nano_usd: cost },
  };
}
