import { parseArgs } from "node:util";
import type { Hex } from "viem";
import { checkDeployment } from "./check.ts";

/** `npm run check:deployment`: docs/staging.md. */
const HELP = `CHECK_PRIVATE_KEY=0x... npm run check:deployment -- https://gateway.example

  --model <id>          a text model; without it the cheapest that the gateway lists
  --deploy <command>    deploys the gateway again while streams are open, for example "npm run deploy"

CHECK_PRIVATE_KEY is that of a wallet with a dollar of credit at the gateway.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { model: { type: "string" }, deploy: { type: "string" }, help: { type: "boolean" } },
});
const [url = ""] = positionals;
const privateKey = process.env.CHECK_PRIVATE_KEY ?? "";
if (values.help || !URL.canParse(url) || !/^0x[0-9a-fA-F]{64}$/.test(privateKey)) {
  process.stderr.write(HELP);
  process.exit(values.help ? 0 : 1);
}
const problems = await checkDeployment({
  url: url.replace(/\/+$/, ""),
  privateKey: privateKey as Hex,
  model: values.model,
  deploy: values.deploy,
  say: (line) => process.stdout.write(`${line}\n`),
}).catch((error: unknown) => [error instanceof Error ? error.message : String(error)]);
for (const problem of problems) process.stdout.write(`WRONG  ${problem}\n`);
if (problems.length === 0) process.stdout.write("Nothing is wrong.\n");
process.exit(problems.length === 0 ? 0 : 1);
