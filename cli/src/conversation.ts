import { type Connection, readModel } from "@inference/sdk";
import { type Answer, answerOf, type Message } from "./chat-answer.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./errors.ts";
import { usd } from "./money.ts";
import { failureOf } from "./run.ts";

const HELP =
  "/model MODEL changes the model, /cost shows what it cost so far, /exit or Ctrl-D ends. Ctrl-C stops an answer. A " +
  "backslash at its end continues a line, and pasted lines are one question.";

/**
 * Asks at the terminal until `/exit` or the end of its input. An error after the first answer ends its question only.
 * Returns the last answer.
 */
export async function converse(
  context: Context,
  connection: Connection & { apiKey: string },
  { messages, ...terms }: { model: string; messages: Message[]; max_tokens: number },
): Promise<Answer> {
  const { say } = context;
  let { model } = terms;
  const answers: Answer[] = [];
  const asked = async (content: string): Promise<void> => {
    messages.push({ role: "user", content });
    try {
      const answer = await answerOf(context, connection, { ...terms, model, messages });
      messages.push({ role: "assistant", content: answer.text });
      answers.push(answer);
    } catch (error) {
      messages.pop();
      throw error;
    }
  };
  const act = async (line: string): Promise<void> => {
    const [, word, name] = /^(\/\w+)\s*(.*)$/.exec(line) ?? [];
    if (word === "/cost") return say(totalOf(answers));
    if (word === "/help") return say(HELP);
    if (word !== "/model") return asked(line);
    if (name) model = (await readModel(connection, name)).id;
    say(`Model ${model}.`);
  };
  say(`/help shows the commands, and Ctrl-D ends the conversation.`);
  for (;;) {
    const line = await question(context);
    if (line === undefined || line === "/exit") break;
    if (line === "") continue;
    try {
      await act(line);
    } catch (error) {
      const failure = failureOf(error);
      if (failure === undefined || (answers.length === 0 && !line.startsWith("/model"))) throw error;
      say(failure.message);
    }
  }
  const last = answers.at(-1);
  if (last === undefined) throw new UsageError("Nothing was asked.");
  say(totalOf(answers));
  return last;
}

/** A question of one or several lines; undefined: the input has ended. */
async function question({ ask }: Context): Promise<string | undefined> {
  const lines: string[] = [];
  for (let prompt = "> "; ; prompt = ". ") {
    const line = await ask(prompt);
    if (line === undefined) return undefined;
    lines.push(line.replace(/\\$/, ""));
    if (!line.endsWith("\\")) return lines.join("\n").trim();
  }
}

function totalOf(answers: readonly Answer[]): string {
  const costs = answers.map(({ cost_nano_usd: cost }) => cost);
  const sum = usd(costs.reduce<number>((total, cost) => total + (cost ?? 0), 0));
  const count = `${answers.length} ${answers.length === 1 ? "answer" : "answers"}`;
  return costs.includes(null) ? `${count} for ${sum}, and what the receipts of some say.` : `${count} for ${sum}.`;
}
