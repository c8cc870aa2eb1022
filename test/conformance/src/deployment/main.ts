import { parseArgs } from "node:util";
import type { Hex } from "viem";

/** `npm run check:deployment`: docs/staging.md. */
const HELP = `CHECK_PRIVATE_KEY=0x... npm run check:deployment -- https://gateway.example

  --model <id>          a text model; without it the cheapest that the gateway lists
  --worker <name>=<id> a version of the Worker, as "npm run deploy -- upload" prints it
  --deploy <command>    deploys the gateway again while streams are open, for example "npm run deploy -- --env staging"

CHECK_PRIVATE_KEY is that of a wallet with a dollar of credit at the gateway.
`;

const { values, positionals } = readArguments();
const [url = ""] = positionals;
const privateKey = process.env.CHECK_PRIVATE_KEY ?? "";
if (values.help) explain(0);
if (!URL.canParse(url)) explain(1, "The gateway's URL is missing or no URL.");
if (!/^0x[0-9a-fA-F]{64}$/.test(privateKey)) {
  explain(1, "CHECK_PRIVATE_KEY must be a wallet's private key: 0x and 64 hexadecimal digits.");
}
// Its packages take a second to load.
const { checkDeployment } = await import("./check.ts");
const problems = await checkDeployment({
  url: url.replace(/\/+$/, ""),
  privateKey: privateKey as Hex,
  model: values.model,
  worker: values.worker,
  deploy: values.deploy,
  say: (line) => process.stdout.write(`${line}\n`),
}).catch((error: unknown) => [error instanceof Error ? error.message : String(error)]);
for (const [problem, { length }] of Map.groupBy(problems, (each) => each)) {
  process.stdout.write(`WRONG  ${problem}${length > 1 ? ` (${length} times)` : ""}\n`);
}
if (problems.length === 0) process.stdout.write("Nothing is wrong.\n");
process.exit(problems.length === 0 ? 0 : 1);

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...{ model: { type: "string" }, worker: { type: "string" }, deploy: { type: "string" } },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    return explain(1, (error as Error).message);
  }
}

function explain(code: number, problem?: string): never {
  process.stderr.write(problem === undefined ? HELP : `${problem}\n\n${HELP}`);
  process.exit(code);
}
