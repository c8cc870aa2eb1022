import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import * as z from "zod";
import { baseUrlOf, problemsOf, rollbackOf, wranglerEnvironment } from "./check.ts";
import { environmentOf, parseWranglerFile } from "./wrangler-file.ts";

/** `npm run deploy`: docs/deploying-cloudflare.md. */
const HELP = `npm run deploy -- --env <name>                  a version for all requests at once; the first version
npm run deploy -- upload --env <name>           a version without requests
npm run deploy -- share <percent> --env <name>  its share of requests and objects, from 1 to 100
npm run deploy -- rollback --env <name>         the version that last had all requests

The other flags are wrangler's, for example --secrets-file, --dry-run or --config.
`;

const given = process.argv.slice(2);
const step = ["upload", "share", "rollback"].find((name) => name === given[0]);
const flags = given.slice(step === undefined ? 0 : step === "share" ? 2 : 1);
const { values } = parseArgs({
  args: flags,
  strict: false,
  options: { env: { type: "string", short: "e" }, config: { type: "string", short: "c" }, help: { type: "boolean" } },
});
const environment = typeof values.env === "string" ? values.env : process.env.CLOUDFLARE_ENV || undefined;
const configuration = typeof values.config === "string" ? values.config : "wrangler.jsonc";
/** The flags that each command of wrangler takes. */
const where = ["--config", configuration, ...(environment === undefined ? [] : ["--env", environment])];

try {
  if (values.help) process.stdout.write(HELP);
  else await deploy();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

async function deploy(): Promise<void> {
  if (step === "rollback") return wrangler("rollback", "--yes", ...flags);
  const file = environmentOf(parseWranglerFile(readFileSync(configuration, "utf8")), environment);
  const problems = problemsOf(file, wranglerEnvironment(process.env));
  if (problems.length > 0) {
    const hint = environment === undefined ? "\n--env is missing: staging or production." : "";
    throw new Error(`${file.name} cannot be deployed:\n${problems.join("\n")}${hint}`);
  }
  const signal = AbortSignal.timeout(10_000);
  const read = async () => (await fetch(new URL("/healthz", baseUrlOf(file)), { signal })).json();
  process.stdout.write(`${await rollbackOf(read)}\n`);
  if (step === "share") return share(Number(given[1]));
  if (step === undefined) return wrangler("deploy", ...flags);
  await wrangler("versions", "upload", ...flags);
  if (flags.includes("--dry-run")) return;
  const { newest, serving } = await versions();
  await split({ [newest]: 0, [serving]: 100 });
  process.stdout.write(`To check it: npm run check:deployment -- ${baseUrlOf(file)} --worker ${file.name}=${newest}\n`);
}

async function share(percent: number): Promise<void> {
  if (!Number.isInteger(percent) || percent < 1 || percent > 100) throw new Error(HELP);
  const { newest, serving } = await versions();
  if (newest === serving) throw new Error("All requests have the newest version. Upload another one first.");
  await split(percent === 100 ? { [newest]: 100 } : { [newest]: percent, [serving]: 100 - percent });
}

/** A version with 0 % gets the requests that name it in a header, and no other. */
function split(shares: Readonly<Record<string, number>>): Promise<void> {
  const specs = Object.entries(shares).map(([id, percent]) => `${id}@${percent}%`);
  return wrangler("versions", "deploy", ...specs, "--yes", ...where);
}

/** The newest version, and the deployed one beside it. */
async function versions(): Promise<{ newest: string; serving: string }> {
  const newest =
    z
      .array(z.object({ id: z.string() }))
      .parse(await read("versions", "list"))
      .at(-1)?.id ?? "";
  const deployment = z.object({ versions: z.array(z.object({ version_id: z.string() })) });
  const deployed = deployment.parse(await read("deployments", "status")).versions.map(({ version_id }) => version_id);
  return { newest, serving: deployed.find((id) => id !== newest) ?? newest };
}

async function read(...command: string[]): Promise<unknown> {
  const child = spawn("wrangler", [...command, "--json", ...where], { stdio: ["ignore", "pipe", "inherit"] });
  const said = await text(child.stdout);
  return JSON.parse(said || refuse(command));
}

async function wrangler(...command: string[]): Promise<void> {
  const [code] = await once(spawn("wrangler", command, { stdio: "inherit" }), "exit");
  if (code !== 0) refuse(command);
}

function refuse(command: readonly string[]): never {
  throw new Error(`wrangler ${command.join(" ")} failed.`);
}
