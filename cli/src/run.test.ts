import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { commands } from "./commands/all.ts";
import { painted } from "./layout.ts";
import { table } from "./table.ts";
import { makeTerminal } from "./testing/in-process.ts";

const { infer, remove, home } = makeTerminal();
after(remove);

test("wrong usage ends with 2, says what is wrong on stderr, and prints nothing", async () => {
  const lines: [RegExp, ...string[]][] = [
    [/no command `fly`. `infer --help`/, "fly"],
    [/Do you mean `infer mint`\?/, "mnt"],
    [/Do you mean `infer status`\?/, "sttaus"],
    [/needs <model>/, "quote"],
    [/does not take `b`/, "quote", "a", "b"],
    [/'--colour'.*infer models --help/, "models", "--colour"],
    [/'--inptu'\. Do you mean `--input`\?/, "quote", "a", "--inptu", "5"],
    [/above 0.* It is not `-5`/, "mint", "-5"],
    [/no tool `codx`\. Do you mean `codex`\?/, "setup", "codx"],
    [/`infer keys` needs one more word/, "keys"],
    [/'--input <value>' argument missing/, "quote", "a", "--input"],
    [/No gateway is named/, "models"],
    [/http\(s\) URL, not `ftp:x`/, "models", "--gateway", "ftp:x"],
    [/number of tokens/, "quote", "a", "--input", "many", "--gateway", "http://127.0.0.1:1"],
    [/--by takes any of day,model,key/, "usage", "--by", "hour", "--gateway", "http://127.0.0.1:1", "--api-key", "k"],
    [/name is given twice/, "keys", "create", "a", "--name", "b"],
    [/--reset takes daily or monthly/, "login", "--reset", "weekly"],
    [/--rpc takes CHAIN-ID=URL/, "login", "--rpc", "http://127.0.0.1"],
    [/--max-cost takes CHAIN-ID=COINS/, "login", "--max-cost", "0.5"],
    [/--private-key takes 0x/, "login", "--private-key", "0x12", "--gateway", "http://127.0.0.1:1"],
  ];
  for (const [reason, ...argv] of lines) {
    const { code, stdout, stderr } = await infer(...argv);
    match(stderr, reason);
    deepEqual([code, stdout], [2, ""], argv.join(" "));
  }
});

test("with --json an error is one document on stdout, and words on stderr", async () => {
  const unreachable = await infer("models", "--json", "--gateway", "http://127.0.0.1:1");
  equal(unreachable.code, 1);
  equal((JSON.parse(unreachable.stdout) as { error: { code: string } }).error.code, "unreachable");
  match(unreachable.stderr, /does not answer/);
  const usage = await infer("quote", "--json");
  equal(usage.code, 2);
  equal((JSON.parse(usage.stdout) as { error: { code: string } }).error.code, "usage");
});

test("the help names every command, what it takes, and for programs the schema of its output", async () => {
  const { stdout, code } = await infer("--help");
  equal(code, 0);
  for (const { name } of commands) match(stdout, new RegExp(`^  ${name} `, "m"));
  match((await infer("quote", "--help")).stdout, /<model>.*\n.*\n.*--input TOKENS/s);
  equal((await infer()).code, 2);
  equal((await infer("help")).stdout, stdout);
  equal((await infer("help", "quote")).stdout, (await infer("quote", "--help")).stdout);
  match((await infer("--version")).stdout, /^\d+\.\d+\.\d+\n$/);
  const { commands: described } = JSON.parse((await infer("--help", "--json")).stdout) as {
    commands: { name: string; output: { type?: string } }[];
  };
  deepEqual(
    described.map(({ name }) => name),
    commands.map(({ name }) => name),
  );
  for (const { name, output } of described) ok(output.type === "object", name);
});

const width = (line: string): number => stripVTControlCharacters(line).length;
const words = (text: string): string => stripVTControlCharacters(text).replaceAll(/\s+/g, " ");

test("at a terminal no line of the help is wider than it, no word is broken, and colours end with their line", async () => {
  const plain = await infer("--help");
  equal((await infer("keys", "--help")).stdout.includes("keys revoke"), true);
  for (const columns of [80, 44]) {
    const screen = { columns, isColored: true };
    const terminal = makeTerminal({}, { stdout: screen, stderr: screen });
    for (const argv of [["--help"], ...commands.map(({ name }) => [...name.split(" "), "--help"])]) {
      const { stdout } = await terminal.infer(...argv);
      const tooWide = stdout.split("\n").filter((line) => width(line) > columns && line.trim().includes(" "));
      deepEqual(tooWide, [], `${argv.join(" ")} at ${columns}`);
      equal(words(stdout), words((await infer(...argv)).stdout));
      for (const line of stdout.split("\n")) if (line.includes("\x1b[")) ok(line.endsWith("\x1b[0m"), line);
    }
    terminal.remove();
  }
  ok(!plain.stdout.includes("\x1b"));
});

test("a table fits a terminal: its last column is wrapped, and in a narrow one each row is a block", () => {
  const titles = ["name", " price", "until", "about"];
  const rows = [["alpha", "1.50", "", "a model of some words"]];
  const at = (columns: number) => painted(table(titles, rows, { columns, empty: "" }), false);
  equal(at(80), "name    price  about\nalpha    1.50  a model of some words");
  equal(at(31), "name    price  about\nalpha    1.50  a model of some\n               words");
  equal(at(20), "name   alpha\nprice  1.50\nabout  a model of some words");
});

test("bash completes commands, options and named values", async () => {
  const { stdout } = await infer("completion", "bash");
  const completed = new Map([
    ["mi", "mint"],
    ["keys r", "roll revoke"],
    ["setup cod", "codex"],
    ["keys limit laptop --no", "--no-private"],
  ]);
  const each = [...completed.keys()].map(
    (line) => `COMP_WORDS=(infer ${line}); COMP_CWORD=${line.split(" ").length}; _infer; echo "\${COMPREPLY[@]}"`,
  );
  const said = execFileSync("bash", ["-c", [stdout, ...each].join("\n")], { encoding: "utf8" });
  deepEqual(said.trimEnd().split("\n"), [...completed.values()]);
  for (const shell of ["zsh", "fish"]) match((await infer("completion", shell)).stdout, /claude-code/);
});

test("commands have different names, and each begins its help with a word in lower case", () => {
  equal(new Set(commands.map(({ name }) => name)).size, commands.length);
  for (const { name, about } of commands) match(about, /^[a-z][^.]*$/, name);
});

test("a bill that cannot be verified ends with 3, and another file with 1", async () => {
  writeFileSync(join(home, "empty.json"), '{"version":4}');
  writeFileSync(join(home, "other.json"), '{"version":7}');
  const { code, stdout, stderr } = await infer("verify", "empty.json");
  equal(code, 3);
  match(stdout, /^fail +debits .*cannot be read[\s\S]*NOT VERIFIED/m);
  match(stderr, /^No check here can prove:\n- What the chain says: the file tells it/);
  equal((await infer("verify", "other.json")).code, 1);
  equal((await infer("verify", "none.json")).code, 1);
});

test("text in a bill cannot move the terminal's cursor or add a line, in words and in JSON", async () => {
  const address = "\u001b[2J\u009b2J\nEvery check passed.\n0x1";
  writeFileSync(join(home, "moves.json"), JSON.stringify({ version: 4, contract: { chainId: 1, address } }));
  const words = await infer("verify", "moves.json");
  match(words.stdout, /^skipped +contract .*: compare it .*: \[2J2J Every check passed\. 0x1 was asked/m);
  doesNotMatch(words.stdout, /^Every check passed/m);
  const { stdout } = await infer("verify", "moves.json", "--json");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  doesNotMatch(words.stdout + stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  const { checks } = JSON.parse(stdout) as { checks: { detail: string }[] };
  ok(checks[0]?.detail.includes(address));
});

test("a damaged login or one of another version is named, and files are readable by their owner only", async () => {
  const login = join(home, "state/infer/login.json");
  mkdirSync(join(home, "state/infer"), { recursive: true });
  for (const [text, reason] of [
    ["{", /login.json is damaged/],
    ["{}", /login.json is of another version: run `infer login`/],
  ] as const) {
    writeFileSync(login, text);
    const { code, stderr } = await infer("credits");
    equal(code, 1);
    match(stderr, reason);
  }
});

test("commands are named as the user typed them", async () => {
  const throughNpm = makeTerminal({ npm_command: "exec" });
  after(throughNpm.remove);
  // The short name is a package of somebody else's, which npm would fetch outside of a clone.
  const { name } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { name: string };
  match(name, /^@[\w-]+\/[\w-]+$/);
  match((await throughNpm.infer("models")).stderr, new RegExp(`run \`npm exec ${name} -- login --gateway URL\``));
  match((await infer("fly")).stderr, /`infer --help` lists them/);
});
