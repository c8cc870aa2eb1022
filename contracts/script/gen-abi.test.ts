import { deepEqual, equal, ok } from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type Abi, decodeErrorResult, type Hex, padHex, toFunctionSelector } from "viem";
import { buildContracts, currentDigest, generatedFiles, writtenDigest, writtenFiles } from "./gen-abi.ts";

const DEEP = process.env.DEEP === "1";

test("the committed ABIs and bytecodes were made from these sources (else: npm run build -w contracts)", () => {
  equal(writtenDigest(), currentDigest());
});

test("the committed ABIs and bytecodes are those of a fresh build", { skip: !DEEP }, () => {
  equal(buildContracts(), 0);
  const expected = generatedFiles();
  const actual = writtenFiles();
  deepEqual([...actual.keys()].sort(), [...expected.keys()].sort());
  const stale = [...expected].filter(([file, content]) => actual.get(file) !== content).map(([file]) => file);
  deepEqual(stale, []);
});

test("bytecode contains no path and no metadata, so it is the same on every machine", () => {
  for (const [file, content] of writtenFiles()) {
    const bytecode = /bytecode: "0x([0-9a-f]*)"/.exec(content)?.[1];
    if (bytecode === undefined) continue;
    const text = Buffer.from(bytecode, "hex").toString("latin1");
    ok(!text.includes("ipfs") && !text.includes("node_modules") && !text.includes("solc"), file);
  }
});

/** Errors of a contract that the called contract calls in turn. */
const passedOn: [called: string, selector: Hex, error: string][] = [
  ["token-minter", "0xe450d38c", "ERC20InsufficientBalance"],
  ["token-minter", "0xfb8f41b2", "ERC20InsufficientAllowance"],
  ["inference-settlement", "0xe450d38c", "ERC20InsufficientBalance"],
  ["stablecoin", "0xfb8f41b2", "ERC20InsufficientAllowance"],
  ["stablecoin", "0x62791302", "ERC2612ExpiredSignature"],
  ["token-bridge", "0x4f3ec0d3", "LZ_InsufficientFee"],
  ["token-bridge", "0xe450d38c", "ERC20InsufficientBalance"],
  ["token-backing-outbox", "0x4f3ec0d3", "LZ_InsufficientFee"],
  ["backer-vault", "0xfb8f41b2", "ERC20InsufficientAllowance"],
  ["agent-fee-converter", "0x1ff641ae", "WrongAmountReceived"],
  ["timelock-controller", "0xe2517d3f", "AccessControlUnauthorizedAccount"],
];
for (const [called, selector, error] of passedOn) {
  test(`viem decodes ${selector} as ${error} by the ABI of ${called}`, async () => {
    const data = padHex(selector, { dir: "right", size: 4 + 32 * 8 });
    const { errorName } = decodeErrorResult({ abi: await abiOf(called), data });
    equal(errorName, error);
  });
}

test("an error that a contract shares with a contract that it calls is in its ABI once", async () => {
  for (const name of await abiNames()) {
    const selectors = (await errorsOf(name)).map(selectorOf);
    deepEqual([...new Set(selectors)], selectors, name);
  }
});

test("every error that the Solidity tests expect is in an ABI that is served", async () => {
  const known = new Set((await Promise.all((await abiNames()).map(errorsOf))).flat().map(({ name }) => name));
  const expected = globSync("../test/**/*.t.sol", { cwd: import.meta.dirname }).flatMap((file) => {
    const source = readFileSync(new URL(file, import.meta.url), "utf8");
    return [...source.matchAll(/expectRevert\((?:abi\.encodeWithSelector\(|\s)*\w+\.(\w+)\.selector/g)].map(
      ([, name]) => name,
    );
  });
  ok(expected.length > 100, `${expected.length}`);
  deepEqual([...new Set(expected.filter((name) => !known.has(name ?? "")))], []);
});

type AbiError = Extract<Abi[number], { type: "error" }>;

function selectorOf(error: AbiError): Hex {
  return toFunctionSelector({ ...error, type: "function", outputs: [], stateMutability: "view" });
}

async function errorsOf(name: string): Promise<AbiError[]> {
  return (await abiOf(name)).filter((entry) => entry.type === "error");
}

async function abiNames(): Promise<string[]> {
  return globSync("../../protocol/src/abi/*.ts", { cwd: import.meta.dirname })
    .flatMap((file) => /([\w-]+)\.ts$/.exec(file)?.[1] ?? [])
    .filter((name) => name !== "all");
}

async function abiOf(name: string): Promise<Abi> {
  const module = (await import(`../../protocol/src/abi/${name}.ts`)) as Record<string, Abi>;
  return Object.values(module)[0] ?? [];
}
