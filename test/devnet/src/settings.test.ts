import { deepEqual, match, ok, throws } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { openFolder } from "./folder.ts";
import { ownSettings } from "./gateway.ts";
import { simulatorSettings } from "./provider.ts";
import { DEFAULT_PORTS, readSettings } from "./settings.ts";

test("the secondary chains have the ports after the primary's, and the other local ids, unless it is said", () => {
  const at = (variables: Record<string, string>) => {
    const { ports, chainIds } = readSettings(variables);
    return { ports: [ports.CHAIN_PORT, ports.SECONDARY1_PORT, ports.SECONDARY2_PORT], ids: Object.values(chainIds) };
  };
  deepEqual(at({}), { ports: [8545, 8546, 8547], ids: [31337, 31338, 31339] });
  deepEqual(at({ CHAIN_PORT: "9000", SECONDARY2_PORT: "9100" }).ports, [9000, 9001, 9100]);
  deepEqual(at({ CHAIN_PORT: "0" }).ports, [0, 0, 0]);
  deepEqual(at({ PRIMARY_CHAIN_ID: "31338" }).ids, [31338, 31337, 31339]);
});

test("a Worker on local workerd has its port beside a running devnet", () => {
  const file = readFileSync(new URL("../../../wrangler.jsonc", import.meta.url), "utf8");
  const port = Number(/"dev": \{ "port": (\d+)/.exec(file)?.[1]);
  ok(port > 0 && !Object.values(DEFAULT_PORTS).some((taken) => taken === port), `${port}`);
});

test("where no port comes after the primary's, the setting to make is named", () => {
  throws(() => readSettings({ CHAIN_PORT: "65535" }), /CHAIN_PORT and SECONDARY1_PORT are both 65535: set one/);
});

test("all that is wrong is named together, each with what to do", () => {
  for (const [settings, says] of [
    [{ GATEWAY_PORT: "http" }, /^GATEWAY_PORT must be a port number/],
    [
      { GATEWAY_PORT: "abc", CHAIN_PORT: "70000", PROVIDER_PORT: "-1", PRIMARY_CHAIN_ID: "1" },
      /^PRIMARY_CHAIN_ID 1 .*GATEWAY_PORT must .* not abc\. CHAIN_PORT must .* not 70000\. PROVIDER_PORT must .* not -1\.$/,
    ],
    [{ CHAIN_PORT: "8787", GATEWAY_PORT: "" }, /^CHAIN_PORT and GATEWAY_PORT are both 8787: /],
    [{ UPSTREAM_BASE_URL: "http://127.0.0.1:9/v1" }, /^UPSTREAM_BASE_URL is set and UPSTREAM_API_KEY/],
    [{ PRIMARY_CHAIN_ID: "8453" }, /^PRIMARY_CHAIN_ID 8453 is not a local chain .*development keys/],
    [{ PRIMARY_RPC_URL: "http://127.0.0.1:9" }, /^PRIMARY_RPC_URL is set, but npm start has/],
  ] as const) {
    throws(() => readSettings(settings), { name: "DevnetError", message: says });
  }
});

test("a folder that cannot be made is told with the setting to make", () => {
  throws(() => openFolder("/proc/x/y"), /\/proc\/x\/y cannot be used .*: set DEVNET_DIR to/);
});

const provider = { UPSTREAM_BASE_URL: "http://127.0.0.1:9/v1", UPSTREAM_API_KEY: "key" };

test("every setting that the devnet makes itself is refused by name, with what to use instead", () => {
  const contracts = new Proxy(
    {},
    { get: () => "0x1", getOwnPropertyDescriptor: () => ({ value: "0x1", configurable: true, enumerable: true }) },
  );
  const onEach = <T>(value: T) => ({ primary: value, secondary1: value, secondary2: value });
  const {
    PRIMARY_CHAIN_ID: _,
    PORT,
    HOST,
    ...own
  } = ownSettings({
    ...{ port: 1, secret: "", databaseFile: "", relayPort: 2, chains: onEach({ rpcUrl: "", chainId: 31337 }) },
    deployment: onEach({
      block: 0,
      contracts,
      layerZero: { eid: 1 } as never,
      stablecoin: { decimals: 6, symbol: "" },
    }),
  });
  for (const name of [...Object.keys(own), "PRIMARY_ANCHOR"]) {
    const says = new RegExp(`^${name} is set, but npm start .+: (unset it, or|set DEVNET_DIR|set GATEWAY_PORT).*\\.$`);
    throws(() => readSettings({ [name]: "1" }), { message: says });
    throws(() => readSettings({ ...provider, [name]: "1" }), { message: says });
    deepEqual(readSettings({ [name]: "" }), readSettings({}));
  }
});

test("a profile is a provider of one's own, with or without a URL and a key", () => {
  deepEqual(readSettings({ UPSTREAM_PROFILE: "ollama" }).upstream, { url: "ollama" });
  const own = { UPSTREAM_PROFILE: "vllm", UPSTREAM_BASE_URL: "http://127.0.0.1:9/v1" };
  deepEqual(readSettings(own).upstream, { url: own.UPSTREAM_BASE_URL });
});

test("what is the simulator's is refused with it alone", () => {
  const {
    UPSTREAM_PROFILE: _,
    UPSTREAM_BASE_URL: __,
    UPSTREAM_API_KEY: ___,
    ...own
  } = simulatorSettings("", { key: "", adminKey: "" });
  for (const name of Object.keys(own)) {
    throws(() => readSettings({ [name]: "1" }), { message: new RegExp(`^${name} is set, but .* UPSTREAM_BASE_URL`) });
    deepEqual(readSettings({ ...provider, [name]: "1" }), readSettings(provider));
  }
});

test("a port or a host that the machine has for other programs stops nothing, and is told", () => {
  deepEqual(readSettings({}).unheard, []);
  const { unheard, ...settings } = readSettings({ PORT: "3000", HOST: "workstation" });
  deepEqual({ ...settings, unheard: [] }, readSettings({}));
  match(unheard.join(" "), /^PORT is set, but .* GATEWAY_PORT .* HOST is set, but .* 127\.0\.0\.1\.$/);
});
