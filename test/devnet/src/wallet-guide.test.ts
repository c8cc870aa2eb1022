import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inDeepRun, isDeep } from "@inference/protocol/testing/deep";
import { readCredits } from "./testing/api.ts";
import { shareDevnet, type TestedDevnet } from "./testing/shared-devnet.ts";

/** The wallet program on the gateway's page works verbatim on every chain. */
const root = fileURLToPath(new URL("../../..", import.meta.url));
const DOLLAR = 1_000_000_000;
let devnet: TestedDevnet;
let steps: Map<string, string>;

before(async () => {
  devnet = await shareDevnet();
  steps = stepsOn(await read("/docs/wallet"));
});

describe("with a private key and the gateway's URL alone, the program turns dollars into an answer", {
  concurrency: true,
}, () => {
  for (const chainId of isDeep ? [31337, 31338, 31339] : [31339]) {
    test(`on chain ${chainId}`, async () => {
      const said = await run([...steps.values()].join("\n\n"), { wallet: chainId - 31336, chainId });
      await assertAnswered(said, 5);
    });
  }

  test("on the primary chain with mintAndActivate, where no chain is named", inDeepRun, async () => {
    const [atOnce = ""] = codesOn(await read("/docs/wallet")).filter((code) => code.includes('"mintAndActivate"'));
    const changed = new Map(steps).set("mint", atOnce).set("activate", "");
    await assertAnswered(await run([...changed.values()].join("\n\n"), { wallet: 4 }), 5);
  });
});

test("llms.txt has the same program", async () => {
  const text = await read("/llms.txt");
  ok(text.includes(`\`\`\`js\n${[...steps.values()].join("\n\n")}\n\`\`\`\n`));
});

test("what fails is named by the ABIs that the program read, before it is sent", async () => {
  const program = [...steps].filter(([id]) => ["connect", "approve", "mint", "activate"].includes(id));
  const code = program.map(([, piece]) => piece).join("\n\n");
  const on = { wallet: 2, chainId: 31338 };
  await rejects(run(code.replace("value: fee", "value: fee - 1n"), on), /LZ_InsufficientFee/);
  if (!isDeep) return;
  await rejects(run(code.replace('parseUnits("5", 6)', 'parseUnits("5000000", 6)'), on), /ERC20InsufficientBalance/);
  await rejects(run(code.replace("amount * scale", "amount * scale - 1n"), on), /ERC20InsufficientAllowance/);
});

test("the gateway tells where everything is, as ready.json does", async () => {
  const { data } = JSON.parse(await read("/api/v1/contracts")) as {
    data: { chains: { chain_id: number; layerzero_eid: number; rpc_url: string; contracts: object }[] };
  };
  const { ready } = devnet;
  deepEqual(
    data.chains.map(({ chain_id, layerzero_eid, rpc_url, contracts }) => [
      chain_id,
      layerzero_eid,
      new URL(rpc_url).href,
      contracts,
    ]),
    ready.chains.map(({ name, chainId, eid, rpcUrl }) => [chainId, eid, new URL(rpcUrl).href, ready.contracts[name]]),
  );
  const { data: status } = JSON.parse(await read("/api/v1/status")) as {
    data: { layerzero_eids: object; chain_ids: number[] };
  };
  deepEqual(status.layerzero_eids, Object.fromEntries(ready.chains.map(({ chainId, eid }) => [chainId, eid])));
  deepEqual(status.chain_ids, [31337, 31338, 31339]);
});

/** The pieces of the program by their step. */
function stepsOn(page: string): Map<string, string> {
  const ids = [...page.matchAll(/<h2 class="step" id="wallet-(\w+)">/g)].map(([, id = ""]) => id);
  const pieces = codesOn(page, 'class="program"');
  equal(pieces.length, ids.length);
  return new Map(ids.map((id, index) => [id, pieces[index] ?? ""]));
}

/** The blocks of code on a page, with the characters that HTML escapes. */
function codesOn(page: string, attribute = ""): string[] {
  const blocks = page.matchAll(/<pre([^>]*)><code>([\s\S]*?)<\/code>/g);
  return [...blocks].flatMap(([, attributes = "", code = ""]) =>
    attributes.includes(attribute)
      ? [code.replace(/&(quot|#39|lt|gt|amp);/g, (_, name: string) => named[name] ?? "")]
      : [],
  );
}

const named: Record<string, string> = { quot: '"', "#39": "'", lt: "<", gt: ">", amp: "&" };

async function run(code: string, { wallet, chainId }: { wallet: number; chainId?: number }): Promise<string> {
  const { privateKey = "" } = devnet.ready.wallets[wallet] ?? {};
  const env = {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    PRIVATE_KEY: privateKey,
    ...(chainId === undefined ? {} : { CHAIN_ID: `${chainId}` }),
  };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
    ...{ cwd: root, env },
  });
  return stdout;
}

/** The key that was printed is of an account that has `dollars`, less what the one answer cost. */
async function assertAnswered(said: string, dollars: number): Promise<void> {
  const [, key = ""] = /^API key: (ik_\S+)$/m.exec(said) ?? [];
  match(said, new RegExp(`^Balance: \\$${dollars}$`, "m"));
  const [, cost] = /^It cost \$([\d.e-]+); \$[\d.]+ is left\.$/m.exec(said) ?? [];
  ok(Number(cost) > 0, said);
  const credits = await readCredits(devnet.ready.gatewayUrl, key);
  equal(credits.total_credits_nano_usd, dollars * DOLLAR);
  equal(credits.total_usage_nano_usd, Math.round(Number(cost) * DOLLAR));
}

async function read(path: string): Promise<string> {
  const response = await fetch(devnet.ready.gatewayUrl + path);
  equal(response.status, 200, path);
  return response.text();
}
