import { createInterface } from "node:readline";
import { startStubProvider } from "@inference/gateway/test/settlement/stub-provider";
import { worstAnswers } from "@inference/gateway/test/worst-answers";

// A provider of large answers, made before it listens: `embeddings 60` has 60 MB. Prints its origin. After that each line
// of its input names the next answer, and is printed when that is set.

const names: Readonly<Record<string, string>> = {
  embeddings: "embeddings of 3,072 numbers",
  logprobs: "log probabilities",
};

const provider = await startStubProvider();
const made = new Map<string, readonly string[]>();
for (const asked of process.argv.slice(2)) {
  const [name = "", megabytes] = asked.split(" ");
  const answer = worstAnswers(Number(megabytes)).find((worst) => worst.name === names[name]);
  if (answer === undefined) throw new Error(`there is no answer ${asked}`);
  made.set(asked, [...answer.body()]);
}

process.stdout.write(`${new URL(provider.url).origin}\n`);
createInterface({ input: process.stdin }).on("line", (asked) => {
  provider.say({
    async *body() {
      yield* made.get(asked) ?? [];
    },
  });
  process.stdout.write(`${asked}\n`);
});
process.stdin.on("end", () => process.exit());
