import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type MemoryHost, openMemoryHost } from "@inference/ledger/testing/memory-host";
import type { ChainReader } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { formatSiweMessage, type SiweMessage } from "@inference/protocol/siwe";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { makeApp } from "../src/app.ts";
import { defaultRequestLimits, type GatewayConfig } from "../src/config.ts";
import { type Environment, UpstreamFailure, WebhookFailure } from "../src/environment.ts";
import { type Gateway, makeGateway } from "../src/gateway.ts";
import { noLimits } from "./no-limits.ts";

/** A gateway over a ledger in memory, whose time and chain the test decides, and clients that sign with real keys. */
export type Fixture = {
  gateway: Gateway;
  ledger: MemoryHost;
  keyValue: Map<string, { value: string; expiresAt: number | undefined }>;
  /** Replaces what the chain answers. */
  chain: ChainReader;
  time: { now: number };
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  signIn(wallet: Wallet, options?: { agentToken?: Address }): Promise<string>;
  makeKey(wallet: Wallet, query?: string): Promise<{ key: string; id: string; data: Record<string, unknown> }>;
};
export type CallOptions = { bearer?: string; body?: unknown; text?: string };
export type Answer = { status: number; body: AnswerBody; text: string; headers: Headers };
export type AnswerBody = {
  balance?: string;
  total_used?: string;
  token?: string;
  key?: string;
  nonce?: string;
  deleted?: boolean;
  status?: string;
  data?: Record<string, unknown> & Record<string, unknown>[];
  error?: { code: string; message: string; param: string | null; type: string };
};
export type Wallet = PrivateKeyAccount;

export const BASE_URL = "https://gateway.example";
export const KEY_ENDPOINT = `${BASE_URL}/api/v1/keys`;
export const PRIMARY = 31_337;
export const SECONDARY = 31_338;
export const NOW = Date.UTC(2026, 10, 21, 12);

const config: GatewayConfig = {
  baseUrl: BASE_URL,
  secret: new Uint8Array(32).fill(7),
  chainIds: [PRIMARY, SECONDARY],
  settlement: { chainId: PRIMARY, address: "0x00000000000000000000000000000000000005e7" },
  upstream: {
    baseUrl: "https://provider.example/api/v1",
    apiKey: "provider-key",
    catalogueShape: "auto",
    pricesFile: JSON.stringify({
      models: [
        { id: "voice", type: "speech", usd_per_million_characters: "3.5" },
        { id: "vendor/voice", type: "speech", usd_per_million_characters: "3.5" },
      ],
    }),
    aliases: {},
    chatExtras: {},
    chatOutputField: "max_tokens",
    defaultOutputTokens: 32_768,
    blockedHeader: null,
    profile: "generic",
    subKeys: "on",
    probe: "off",
    betaModels: "off",
    recordUrl: null,
    recordKey: "",
    billing: null,
    adminKey: null,
  },
  drainMs: 0,
  bodyMemoryBytes: 64 * 1024 * 1024,
  answerMemoryBytes: 64 * 1024 * 1024,
  ledgerIsFar: false,
  relay: null,
  posting: { postNanoUsd: 1_000_000_000, leastNanoUsd: 10_000_000, intervalMs: 86_400_000 },
  chains: [
    {
      ...{ chainId: PRIMARY, role: "primary", name: null, eid: null, rpcUrl: null, stablecoin: null, startBlock: 0 },
      contracts: { inferenceSettlement: "0x00000000000000000000000000000000000000a1" },
    },
  ],
  operator: noLimits,
  request: defaultRequestLimits,
};

/**
 * @param settings In place of the fixture's own.
 * @param given In place of what the fixture gives the gateway.
 */
export function openFixture(settings: Partial<GatewayConfig> = {}, given: Partial<Environment> = {}): Fixture {
  const time = { now: NOW };
  const ledger = openMemoryHost({ now: () => time.now });
  const keyValue: Fixture["keyValue"] = new Map();
  const chain: ChainReader = {
    agentOwner: async () => null,
    agentSeller: async () => null,
    capacityToday: async () => ({ capacityNanoUsd: 0, at: time.now }),
    acceptsSignature: async () => false,
    books: async () => null,
    pendingActivations: () => [],
    following: () => ({ state: "following", block: 0, lagBlocks: 0 }),
  };
  const gateway = makeGateway(
    // A test may change it.
    { ...structuredClone(config), ...settings },
    {
      clock: { now: () => time.now },
      random: { bytes: (length) => new Uint8Array(randomBytes(length)) },
      ledger,
      keyValue: {
        get: async (key) => keyValue.get(key)?.value ?? null,
        put: async (key, value, options) => void keyValue.set(key, { value, expiresAt: options?.expiresAt }),
        delete: async (key) => void keyValue.delete(key),
        list: async (prefix, limit) =>
          [...keyValue.keys()]
            .filter((key) => key.startsWith(prefix))
            .sort()
            .slice(0, limit),
      },
      chain,
      upstream: {
        async send() {
          throw new UpstreamFailure("not_sent", "there is no provider here");
        },
      },
      mcpSdk: () => import("../src/mcp-sdk.ts"),
      webhooks: {
        async post() {
          throw new WebhookFailure("unreachable");
        },
      },
      log: () => undefined,
      background: () => undefined,
      timers: {
        after(ms, callback) {
          if (ms === 0) {
            const next = setImmediate(callback);
            return { cancel: () => clearImmediate(next) };
          }
          const timer = setTimeout(callback, ms);
          return { cancel: () => clearTimeout(timer) };
        },
        monotonicMs: () => performance.now(),
      },
      ...given,
    },
  );
  const app = makeApp(gateway);

  async function call(method: string, path: string, { bearer, body, text }: CallOptions = {}): Promise<Answer> {
    const headers = new Headers();
    if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
    const payload = text ?? (body === undefined ? undefined : JSON.stringify(body));
    if (payload !== undefined) headers.set("content-type", "application/json");
    const init = { method, headers, ...(payload === undefined ? {} : { body: payload }) };
    const response = await app.fetch(new Request(`${BASE_URL}${path}`, init));
    const answer = await response.text();
    const parsed = (answer === "" ? {} : JSON.parse(answer)) as AnswerBody;
    return { status: response.status, body: parsed, text: answer, headers: response.headers };
  }

  return {
    gateway,
    ledger,
    keyValue,
    chain,
    time,
    call,
    async signIn(wallet, more = {}) {
      const signed = await sign(wallet, { issuedAt: time.now });
      const { status, body, text } = await call("POST", "/auth", { body: { ...signed, ...more } });
      if (status !== 200 || body.token === undefined) throw new Error(`not signed in: ${text}`);
      return body.token;
    },
    async makeKey(wallet, query = "") {
      const signed = await sign(wallet, { issuedAt: time.now, resources: [`${KEY_ENDPOINT}${query}`] });
      const { status, body, text } = await call("POST", "/api/v1/keys", { body: signed });
      if (status !== 201 || body.key === undefined || body.data === undefined) throw new Error(`no key: ${text}`);
      return { key: body.key, id: String(body.data.id), data: body.data };
    },
  };
}

export function makeWallet(): Wallet {
  return privateKeyToAccount(generatePrivateKey());
}

/** A message for this gateway, signed; `fields` makes it another one. */
export async function sign(
  wallet: Wallet,
  fields: Partial<SiweMessage> = {},
): Promise<{ message: string; signature: `0x${string}` }> {
  const message = formatSiweMessage({
    domain: "gateway.example",
    address: wallet.address,
    uri: BASE_URL,
    version: "1",
    chainId: PRIMARY,
    nonce: randomBytes(8).toString("hex"),
    issuedAt: NOW,
    resources: [],
    ...fields,
  });
  return { message, signature: await wallet.signMessage({ message }) };
}

/** The answer is this error. `assert-error.ts` checks its whole form, over HTTP. */
export function assertError(answer: Answer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], answer.text);
}

/** What a key says of itself. */
export const keyOf = (fixture: Fixture, bearer: string) => fixture.call("GET", "/api/v1/key", { bearer });
