import { isObject } from "./validate.ts";

/**
 * One turn of a model's answers. A script is a JSON list of steps between `<script>` and `</script>` in any message. The
 * number of earlier answers in the conversation selects the step; past the end the last step repeats.
 */
export interface ScriptStep {
  readonly think?: string;
  readonly say?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: object }[];
}

/** A step on the wire: one delta for each token, and the whole message. */
export interface ScriptedAnswer {
  readonly deltas: readonly string[];
  /** The number of reasoning deltas, which come first. */
  readonly reasoning: number;
  readonly message: string;
  readonly hasCalls: boolean;
}

const SCRIPT = /<script>(.*?)<\/script>/s;
const CHARACTERS_PER_TOKEN = 4;

/** The step for this conversation; null if nothing in it is a script. */
export function readScript(text: string, messages: unknown): ScriptStep | null {
  const found = SCRIPT.exec(text)?.[1];
  if (found === undefined) return null;
  const steps = JSON.parse(found) as readonly ScriptStep[];
  const answers = Array.isArray(messages) ? messages.filter((each) => isObject(each) && each.role === "assistant") : [];
  return steps[Math.min(answers.length, steps.length - 1)] ?? null;
}

/** @param id Begins the ids of its calls. */
export function writeScripted({ think = "", say = "", calls = [] }: ScriptStep, id: string): ScriptedAnswer {
  const thoughts = tokensOf(think).map((token) => JSON.stringify({ reasoning_content: token }));
  const words = tokensOf(say).map((token) => JSON.stringify({ content: token }));
  const made = calls.map((call, index) => ({
    id: `${id}_${index}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const pieces = made.flatMap((call, index) =>
    tokensOf(call.function.arguments).map((token, at) => {
      const head = at === 0 ? { id: call.id, type: call.type } : {};
      const called = at === 0 ? { name: call.function.name, arguments: token } : { arguments: token };
      return JSON.stringify({ tool_calls: [{ index, ...head, function: called }] });
    }),
  );
  const message = {
    role: "assistant",
    content: say === "" && made.length > 0 ? null : say,
    reasoning_content: think === "" ? null : think,
    ...(made.length === 0 ? {} : { tool_calls: made }),
  };
  return {
    deltas: [...thoughts, ...words, ...pieces],
    reasoning: thoughts.length,
    message: JSON.stringify(message),
    hasCalls: made.length > 0,
  };
}

function tokensOf(text: string): string[] {
  const characters = [...text];
  const tokens: string[] = [];
  for (let at = 0; at < characters.length; at += CHARACTERS_PER_TOKEN) {
    tokens.push(characters.slice(at, at + CHARACTERS_PER_TOKEN).join(""));
  }
  return tokens;
}
