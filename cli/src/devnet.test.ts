import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { ask } from "@inference/devnet/ask";
import { shareDevnet, type TestedDevnet } from "@inference/devnet/testing/shared-devnet";
import { inDeepRun } from "@inference/protocol/testing/deep";
import { eventually } from "@inference/protocol/testing/eventually";
import * as Keystore from "ox/Keystore";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import * as z from "zod";
import { commands } from "./commands/all.ts";
import { makeTerminal } from "./testing/in-process.ts";
import { books, testKilled } from "./testing/killed-suite.ts";
import { startSlowNode } from "./testing/slow-node.ts";
import { testTty } from "./testing/tty-suite.ts";

/** Every command against three chains and a gateway, for people and with `--json`. */
let devnet: TestedDevnet;
let slow: { url: string; close(): void };
const terminals: { remove(): void }[] = [];

before(async () => {
  devnet = await shareDevnet();
  slow = await startSlowNode(devnet.ready.chains[0]?.rpcUrl ?? "", 25);
});
after(async () => {
  slow?.close();
  for (const terminal of terminals) terminal.remove();
});

type Json = Record<string, unknown>;

function openTerminal(environment: Record<string, string> = {}) {
  const terminal = makeTerminal({ DEVNET_DIR: devnet.folder, ...environment });
  terminals.push(terminal);
  const { infer } = terminal;
  return {
    ...terminal,
    /** Runs a command with `--json`, checks its output with its schema, and returns the output. */
    async json(...argv: string[]): Promise<Json> {
      const { code, stdout, stderr } = await infer(...argv, "--json");
      ok(code === 0 || argv[0] === "verify", `${argv.join(" ")}: ${stderr}`);
      const named = commands.filter(({ name }) => name.split(" ").every((word, index) => argv[index] === word));
      const [command] = named.sort((one, other) => other.name.length - one.name.length);
      return z.parse(command?.output ?? z.never(), JSON.parse(stdout)) as Json;
    },
  };
}

test("two commands in a terminal lead from a devnet to an answer and its cost", async () => {
  const { infer, json, home } = openTerminal();
  const login = await json("login", "--devnet");
  deepEqual([login.is_new, login.signer, login.gateway], [true, "devnet", devnet.ready.gatewayUrl]);
  const { code, stdout, stderr } = await infer("chat", "Hello", "--model", "alder-27b", "--max-tokens", "9");
  equal(code, 0);
  ok(stdout.trim().length > 0);
  match(stderr, /^alder-27b: \$0\.0\d+ for \d+ input and \d+ output tokens\. Receipt req_\w+\./);
  equal(statSync(join(home, "state/infer/login.json")).mode & 0o777, 0o600);
  // The login keeps its key.
  deepEqual(await json("login", "--devnet"), {
    ...login,
    is_new: false,
    available_nano_usd: (await json("credits")).available_nano_usd,
  });
  // Terms that the kept key does not have are an error.
  const limited = await infer("login", "--devnet", "--limit", "5");
  deepEqual([limited.code, /logged in already, with the key .+`infer keys limit`/.test(limited.stderr)], [2, true]);
  const chat = await json("chat", "Hello", "--system", "Be brief.", "--max-tokens", "9");
  const receipt = await json("receipt", String(chat.receipt));
  equal(receipt.charge_nano_usd, chat.cost_nano_usd);
  equal((await json("receipt")).id, receipt.id);
  const { totals } = (await json("usage", "--by", "day,model")) as { totals: { usage_nano_usd: number }[] };
  equal(
    totals.reduce((sum, { usage_nano_usd: usage }) => sum + usage, 0),
    (await json("credits")).total_usage_nano_usd,
  );
});

test("public data needs no login", async () => {
  const { infer, json } = openTerminal({ INFERENCE_GATEWAY: devnet.ready.gatewayUrl });
  const { models } = (await json("models", "--type", "text")) as { models: { id: string }[] };
  ok(models.some(({ id }) => id === "alder-27b"));
  equal((await json("quote", "alder-27b", "--input", "1000000", "--output", "0")).cost_nano_usd, 150_000_000);
  const { stderr, code } = await infer("quote", "no-such-model");
  deepEqual([code, /no model `no-such-model`/.test(stderr)], [1, true]);
  equal((await json("status")).primary_chain_id, 31_337);
  match((await infer("models")).stdout, /^alder-27b +text +131072 +0.15 +0.60 +0.04 per M cached input$/m);
  match((await infer("credits")).stderr, /needs an API key/);
  match((await infer("mint", "1")).stderr, /needs an account that signs/);
});

test("dollars become balance on each chain, and tokens move between them", async () => {
  const { infer, json } = openTerminal();
  await json("login", "--devnet", "--wallet", "1");
  const holdings = async () => {
    const { chains } = (await json("wallet")) as { chains: { dollars: string; amount_token: string }[] };
    return chains.map(({ dollars, amount_token: tokens }) => [Number(dollars), Number(tokens)]);
  };
  const before = await holdings();
  const chains = process.env.DEEP === "1" ? ["primary", "31338", "secondary2"] : ["primary", "31338"];
  for (const chain of chains) {
    equal((await json("mint", "2.5", "--chain", chain)).amount_token, "2500000");
    const { code, stderr } = await infer("activate", "1.5", "--chain", chain);
    equal(code, 0, stderr);
    match(
      stderr,
      /: signed, 0x\w+ on chain \d+\n.*: sent\n.*: confirmed in block \d+\n.*: final\n(.*\n)*.*: credited\n$/,
    );
  }
  equal((await json("credits")).total_credits_nano_usd, chains.length * 1_500_000_000);
  deepEqual(
    (await holdings()).slice(0, chains.length),
    before.slice(0, chains.length).map(([dollars = 0]) => [dollars - 2.5, 1_000_000]),
  );
  await json("bridge", "1", "--from", "primary", "--to", "secondary1");
  equal((await holdings())[1]?.[1], 2_000_000);
  equal((await json("bridge", "1", "--from", "secondary1", "--to", "primary", "--no-wait")).arrived, null);
});

test("a key and a balance come from one command without a login or a coin, and an interrupted one pays once", async () => {
  const { dies, infer, json, home } = openTerminal();
  const own = ["--gateway", devnet.ready.gatewayUrl, "--private-key", devnet.ready.wallets[3]?.privateKey ?? ""];
  match((await infer("pay", "2", ...own, "--max-fee", "0.001")).stderr, /above your limit of \$0\.00/);
  await dies(/pay: signed/, "pay", "2", ...own);
  await dies("output", "pay", "2", ...own);
  const paid = await json("pay", "2", ...own);
  deepEqual([paid.amount_token, paid.is_resumed], ["2000000", true]);
  equal((await json("credits")).total_credits_nano_usd, 2_000_000_000);
  deepEqual(readdirSync(join(home, "state/infer/top-ups")), []);
  equal((await infer("chat", "Hello", "--model", "alder-27b", "--max-tokens", "9")).code, 0);
});

test(
  "a contract's refusal is a sentence with the error's name as code, and nothing is stored or sent",
  inDeepRun,
  async () => {
    const { infer } = openTerminal();
    await infer("login", "--devnet", "--wallet", "4");
    const { code, stdout, stderr } = await infer("activate", "9999999", "--json");
    equal(code, 1);
    match(stderr, /^You have [\d.,]+ tokens on primary, and this needs 9,999,999 tokens\. Nothing was sent\.\n/);
    const { error } = JSON.parse(stdout) as { error: Json };
    deepEqual([error.code, error.hash], ["ERC20InsufficientBalance", null]);
    const mint = await infer("mint", "9999999", "--approve");
    match(mint.stderr, /^You have \$[\d.,]+ on primary, and this needs \$9,999,999\.00\. Nothing was sent\.\n$/);
    match((await infer("resume")).stdout, /Nothing was interrupted/);
    match((await infer("mint", "1", "--chain", "77")).stderr, /no chain `77`.*31337 \(primary\)/);
  },
);

testKilled({
  openTerminal,
  slowNode: () => slow.url,
  devnet: () => devnet,
  fund: (address) => devnetCommand("faucet", address),
});

test(
  "another amount is another intent: the interrupted payment is finished first, and both are paid",
  inDeepRun,
  async () => {
    const { infer, dies, json } = openTerminal();
    await json("login", "--devnet", "--wallet", "3");
    const before = await books(json);
    await dies(/mint: signed/, "mint", "1");
    const { stderr } = await infer("mint", "2");
    match(stderr, /Going on with `infer mint \$1 --chain 31337`[\s\S]*mint: confirmed[\s\S]*mint: confirmed/);
    equal((await books(json)).token, before.token + 3);
    // A signed transaction is dropped when another one has its nonce.
    await dies(/mint: signed/, "mint", "4");
    const other = openTerminal();
    await other.json("login", "--devnet", "--wallet", "3");
    await other.json("mint", "1");
    match((await infer("mint", "4")).stderr, /Another transaction took its place[\s\S]*mint: confirmed/);
    equal((await books(json)).token, before.token + 8);
    await dies(/mint: signed/, "mint", "1");
    const { finished } = (await json("resume", "--forget")) as { finished: Json[] };
    deepEqual([finished[0]?.command, finished[0]?.outcome], ["infer mint $1 --chain 31337", "forgotten"]);
    equal((await books(json)).token, before.token + 8);
  },
);

test("a transaction that cannot be stored is not sent", async () => {
  const none = openTerminal({ XDG_STATE_HOME: "/dev/null" });
  // A file in place of the folder of transactions: nothing can be written, as on a full disk.
  const full = openTerminal();
  mkdirSync(join(full.home, "state/infer"), { recursive: true });
  writeFileSync(join(full.home, "state/infer/pending"), "");
  const { privateKey = "" } = devnet.ready.wallets[4] ?? {};
  const own = ["--gateway", devnet.ready.gatewayUrl, "--private-key", privateKey];
  const before = await none.json("wallet", ...own);
  for (const [{ infer }, file] of [
    [none, /paying-0x\w+\.json cannot be written/],
    [full, /pending\/31337-0x\w+\.json cannot be written/],
  ] as const) {
    const { code, stderr } = await infer("mint", "1", ...own);
    equal(code, 1);
    match(stderr, file);
  }
  deepEqual(await none.json("wallet", ...own), before);
});

test("of two runs that pay with an account at once, one pays and the other names the reason", inDeepRun, async () => {
  const { infer, json } = openTerminal();
  await json("login", "--devnet", "--wallet", "4");
  const before = await books(json);
  const ran = await Promise.all([infer("mint", "1"), infer("mint", "1"), infer("activate", "9")]);
  deepEqual(ran.map(({ code }) => code).sort(), [0, 1, 1]);
  const refused = ran.filter(({ code }) => code === 1);
  for (const { stderr } of refused) match(stderr, /process \d+\) is paying with this account|has just begun/);
  equal((await books(json)).token, before.token + 1);
  equal((await json("mint", "1")).is_resumed, false);
});

test("keys are made, listed, raised, given another secret and revoked", async () => {
  const { infer, json } = openTerminal();
  await json("login", "--devnet");
  const made = (await json("keys", "create", "büro", "--limit", "1.50", "--reset", "daily")) as {
    key: string;
    data: Json;
  };
  deepEqual([made.data.limit, made.data.limit_reset, made.data.name], [1.5, "daily", "büro"]);
  const id = String(made.data.id);
  const named = (await json("keys", "create", "--name", "laptop")) as { data: Json };
  equal(named.data.name, "laptop");
  const listed = (await json("keys", "list")) as { keys: Json[] };
  ok(listed.keys.some((key) => key.id === id));
  equal((await json("keys", "limit", id, "4")).limit, 4);
  equal((await json("keys", "limit", id, "4", "--private")).private, true);
  equal((await json("keys", "limit", id, "4", "--no-private")).private, false);
  equal((await json("keys", "limit", id, "none")).limit, null);
  const rolled = (await json("keys", "roll", id)) as { key: string };
  notEqual(rolled.key, made.key);
  equal((await infer("credits", "--api-key", made.key)).code, 1);
  equal((await infer("credits", "--api-key", rolled.key)).code, 0);
  await json("keys", "revoke", id);
  equal((await infer("credits", "--api-key", rolled.key)).code, 1);
  // A name that one key has works like an id.
  equal((await json("keys", "limit", "laptop", "3")).id, named.data.id);
  equal(((await json("keys", "roll", "laptop")) as { data: Json }).data.id, named.data.id);
  const same = (await json("keys", "create", "laptop")) as { data: Json };
  for (const argv of [
    ["limit", "laptop", "3"],
    ["revoke", "laptop"],
    ["roll", "laptop"],
  ]) {
    const { code, stderr } = await infer("keys", ...argv);
    equal(code, 1);
    match(stderr, /^2 keys are called `laptop`\. Name one by its id: /);
    for (const { data } of [named, same]) ok(stderr.includes(String(data.id)), stderr);
  }
  await json("keys", "revoke", String(same.data.id));
  equal((await json("keys", "revoke", "laptop")).key_id, named.data.id);
  match(
    (await infer("keys", "revoke", "laptop")).stderr,
    /^This account has no key `laptop`\. `infer keys list` shows/,
  );
  // The login keeps the new secret of its key.
  const { key } = (await json("keys", "show")) as { key: string };
  await json("keys", "roll");
  notEqual((await json("keys", "show")).key, key);
  equal((await infer("credits")).code, 0);
});

test("a keystore of Foundry's opens by its name, with the password of a file", inDeepRun, async () => {
  const password = join(devnet.folder, "password");
  writeFileSync(password, "correct horse\n");
  const { infer, json, home, variables } = openTerminal({ ETH_PASSWORD: password });
  const key = generatePrivateKey();
  const keystore = join(home, ".foundry/keystores/mine");
  mkdirSync(dirname(keystore), { recursive: true });
  const [derived, options] = Keystore.scrypt({ password: "correct horse", n: 1_024 });
  writeFileSync(keystore, JSON.stringify(Keystore.encrypt(key, derived, options)));
  const login = await json("login", "--gateway", devnet.ready.gatewayUrl, "--account", "mine");
  deepEqual([login.address, login.signer], [privateKeyToAddress(key), "keystore"]);
  // Later commands open the same keystore.
  equal(((await json("keys", "list")) as { keys: Json[] }).keys.length, 1);
  variables.ETH_PASSWORD = join(devnet.folder, "ready.json");
  match((await infer("keys", "list")).stderr, /does not open with the password/);
  const named = openTerminal({ ETH_PASSWORD: password, ETH_KEYSTORE: keystore });
  equal((await named.json("login", "--gateway", devnet.ready.gatewayUrl)).address, privateKeyToAddress(key));
});

testTty(() => devnet.ready.gatewayUrl, openTerminal);

test("verify prints a line for each check, and ends with 0 only if all passed", async () => {
  const { infer, json, home } = openTerminal();
  // This terminal makes all requests of the account, so its log is complete.
  await json("login", "--devnet", "--wallet", "2");
  await json("mint", "1");
  await json("activate", "1");
  await json("chat", "Hello", "--model", "alder-27b", "--max-tokens", "9");
  await eventually(async () => {
    const { settlement } = (await json("receipt")) as { settlement: { status: string } | null };
    return settlement?.status === "final";
  });
  const { code, stdout, stderr } = await infer("verify", "--save", "bill.json");
  equal(code, 0, stdout + stderr);
  match(
    stdout,
    /^pass +contract +.*\n(.*\n)*pass +debits .*\n +trusts: .*node that the client chose\n(.*\n)*pass +requests .*: 1 of 1 uses/,
  );
  match(stderr, /^No check here can prove:\n- That you made the requests that are not in your log/m);
  const offline = openTerminal();
  const file = join(home, "bill.json");
  const evidence = JSON.parse(readFileSync(file, "utf8")) as {
    chain: { debitedNanoUsd: string };
    contract: { address: string };
  };
  // The judge names the right contract, not the file.
  match((await offline.infer("verify", file)).stdout, /^skipped +contract /m);
  const own = ["--contract", `31337:inferenceSettlement=${evidence.contract.address}`];
  equal((await offline.infer("verify", file, ...own)).code, 0);
  evidence.chain.debitedNanoUsd = "1";
  writeFileSync(file, JSON.stringify(evidence));
  const { outcome, checks } = (await offline.json("verify", file)) as { outcome: string; checks: Json[] };
  deepEqual([outcome, checks.find(({ id }) => id === "debits")?.outcome], ["fail", "fail"]);
  equal((await infer("bill", "--save")).code, 0);
});

test("an order tops up a low balance at the gateway, is shown, and ends", inDeepRun, async () => {
  const { infer, json } = openTerminal({ INFERENCE_GATEWAY: devnet.ready.gatewayUrl });
  const privateKey = generatePrivateKey();
  await devnetCommand("faucet", privateKeyToAddress(privateKey));
  await json("login", "--private-key", privateKey);
  const own = ["--private-key", privateKey];
  const until = new Date(Date.now() + 10 * 86_400_000).toISOString();
  match((await infer("auto-top-up", "set", "0.5", until, ...own)).stderr, /pulls at least \$1 at once/);
  match((await infer("auto-top-up", "set", "2", "2020-01-01", ...own)).stderr, /The end has passed/);
  const set = await json("auto-top-up", "set", "2", until, ...own);
  deepEqual([set.max_per_day, set.expires_at, set.chain_id], ["2000000", until, 31_337]);
  await eventually(async () => (await json("credits")).available_nano_usd === 2_000_000_000);
  type Shown = { order: Json | null; terms: Json; allowance: string };
  const read = async () => ((await json("auto-top-up")) as { chains: Shown[] }).chains[0];
  const shown = await read();
  deepEqual(
    [shown?.order?.max_per_day, shown?.order?.pulled_today, shown?.order?.puller, shown?.terms.below],
    ["2000000", "2000000", shown?.terms.puller, "5000000"],
  );
  ok(["18000000", "20000000", "22000000"].includes(shown?.allowance ?? ""), "what the order can pull, and no more");
  match((await infer("auto-top-up")).stdout, /primary +\$2.00 +\$2.00/);
  await json("auto-top-up", "end", ...own);
  equal((await read())?.order, null);
});

test("an agent is created, staked under, capped, given a computer, and sells", inDeepRun, async () => {
  const { infer, json, home } = openTerminal();
  await json("login", "--devnet", "--wallet", "3");
  const { address } = (await json("wallet")) as { address: string };
  await devnetCommand("faucet", address);
  const agent = await json("agent", "create", "Miss Bo", "BO");
  deepEqual([agent.is_resumed, agent.owner], [false, address]);
  const token = String(agent.agent_token);
  equal((await json("agent", "stake", "bo", "100")).agent_token, token);
  await json("agent", "stake", "miss bo", "20.5", "--gift");
  await json("agent", "reserve", token, "110");
  const computer = await json("agent", "computer", token, "--computer-key-file", "computer.key");
  equal(statSync(join(home, "computer.key")).mode & 0o777, 0o600);

  const books = await json("agent", "earnings", token);
  deepEqual(
    [books.stake, books.backing, books.reserve, books.capacity_today, books.computer],
    ["120.5", "100", "110", "0", computer.computer],
  );
  const { backings } = (await json("agent", "backing")) as { backings: Json[] };
  deepEqual(backings.at(-1), { agent_token: token, amount: "100", claimable_token: "0" });
  match((await infer("agent", "claim", "bo")).stderr, /^There is nothing to claim/);
  const left = await json("agent", "unstake", "bo", "40");
  deepEqual([left.amount, left.agent_token], ["40", token]);
  match((await infer("agent", "exit", String(left.exit_id))).stderr, /^The stake can be withdrawn from 20\S+ on/);
  match((await infer("agent", "exit")).stderr, new RegExp(`the next is from ${left.ready_at} on`));
  match((await infer("agent", "backing")).stdout, new RegExp(`${left.exit_id} +40 +${left.ready_at} +${token}`));
  const offered = (await json(
    "agent",
    "offer",
    token,
    "--share",
    "80",
    "--computer-key-file",
    "computer.key",
  )) as Offered;
  equal(offered.offer?.share_bps, 8_000);
  match((await infer("agent", "offer", token)).stdout, /^offer +80 % of .*\n.*\ncapacity +none yet: stake counts from/);
  const standing = ["agent", "offer", token, "--share", "12.5%", "--standing", "--computer-key-file", "computer.key"];
  equal(((await json(...standing)) as Offered).offer?.day, 0);
  const withdrawn = await json("agent", "offer", token, "--withdraw", "--computer-key-file", "computer.key");
  equal(withdrawn.offer, null);
  match((await infer("agent", "offer", token, "--share", "80")).stderr, /Name the computer/);
  equal((await json("agent", "computer", token, "--remove")).computer, null);

  const other = openTerminal();
  await other.json("login", "--devnet", "--wallet", "4");
  const refused = await other.infer("agent", "reserve", token, "1");
  deepEqual([refused.code, /Only the agent's owner/.test(refused.stderr)], [1, true]);
  match((await infer("agent", "earnings", address)).stderr, /created no agent/);
  match((await infer("agent", "earnings", "beau")).stderr, /^No agent of yours is called `beau`\. Yours are BO \(0x/);
});

type Offered = { offer: { share_bps: number; day: number } | null };

async function devnetCommand(command: string, ...args: string[]): Promise<void> {
  await ask(devnet.folder, { command, args, say: () => {} });
}

test("a tool's configuration is shown, then written, and names the gateway", async () => {
  const { infer, json, home: project, variables } = openTerminal();
  const home = join(project, "home");
  variables.HOME = home;
  await json("login", "--devnet");
  for (const tool of ["codex", "claude-code", "opencode", "aider", "openwebui"]) {
    const shown = await json("setup", tool, "--model", "alder-27b", "--dry-run");
    const written = await json("setup", tool, "--model", "alder-27b");
    deepEqual([shown.is_written, written.is_written, shown.content], [false, tool !== "openwebui", written.content]);
    match(String(written.content), new RegExp(devnet.ready.gatewayUrl));
    if (written.file !== null) equal(readFileSync(String(written.file), "utf8"), written.content);
  }
  const codex = readFileSync(join(home, ".codex/gateway.config.toml"), "utf8");
  match(codex, /model_context_window = 131072/);
  // Codex and Claude Code ask for the key, and no file has it.
  const { stdout: secret } = await infer("keys", "show");
  const [, program = "", args = ""] = /^command = (".*")\nargs = (\[.*\])$/m.exec(codex) ?? [];
  const asked = execFileSync(JSON.parse(program) as string, JSON.parse(args) as string[], { env: variables });
  equal(String(asked), secret);
  const helper = readFileSync(join(project, ".claude/settings.local.json"), "utf8");
  match(helper, /"apiKeyHelper": "'.*' 'keys' 'show' '--gateway' 'http/);
  ok(!helper.includes(secret.trim()));
  // The user's own configuration stays.
  const own = 'model = "gpt-5-codex"\n';
  writeFileSync(join(home, ".codex/config.toml"), own);
  const { code, stderr } = await infer("setup", "codex");
  equal(code, 0, stderr);
  match(
    stderr,
    /`alder-27b` is the cheapest model with tools .*128,000 tokens[\s\S]*Start it: codex --profile gateway\n/,
  );
  match(readFileSync(join(home, ".codex/gateway.config.toml"), "utf8"), /model = "alder-27b"[\s\S]*window = 131072/);
  equal(readFileSync(join(home, ".codex/config.toml"), "utf8"), own);
  const small = await infer("setup", "aider", "--model", "alder-4b", "--dry-run");
  match(small.stderr, /`alder-4b` may not do for a coding tool: .*its context window is 32,768 tokens\./);
  // Other settings stay, a backup has the original file, and an unreadable file is not changed.
  const settings = join(project, ".claude/settings.local.json");
  writeFileSync(settings, '{"theme":"dark"}');
  match(
    (await infer("setup", "claude-code", "--model", "alder-27b")).stderr,
    /before: .*settings\.local\.json\.before-infer/,
  );
  equal(readFileSync(`${settings}.before-infer`, "utf8"), '{"theme":"dark"}');
  match(readFileSync(settings, "utf8"), /"theme": "dark"/);
  // The undo removes the setup alone: earlier and later settings stay.
  const changed = { ...(JSON.parse(readFileSync(settings, "utf8")) as object), since: 1 };
  writeFileSync(settings, JSON.stringify(changed));
  await json("setup", "claude-code", "--undo");
  deepEqual(JSON.parse(readFileSync(settings, "utf8")), { theme: "dark", since: 1 });
  for (const tool of ["codex", "opencode", "aider"]) {
    const { file } = await json("setup", tool, "--undo");
    equal(existsSync(String(file)), false);
  }
  deepEqual(readdirSync(join(home, ".codex")), ["config.toml"]);
  equal((await infer("setup", "codex", "--undo")).code, 1);
  for (const broken of ['{"theme":', "[]", "\u0000"]) {
    writeFileSync(settings, broken);
    const { code, stderr } = await infer("setup", "claude-code", "--model", "alder-27b");
    deepEqual([code, readFileSync(settings, "utf8")], [1, broken]);
    match(stderr, /not a JSON object/);
  }
  rmSync(settings);
  mkdirSync(settings);
  match((await infer("setup", "claude-code", "--model", "alder-27b")).stderr, /cannot be read or written \(EISDIR\)/);
  const { stdout: key } = await infer("keys", "show");
  ok(!codex.includes(key.trim()));
  equal((await infer("setup", "emacs")).code, 2);
});
