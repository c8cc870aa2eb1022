import { deepEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "./settings.ts";

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

test("where no port comes after the primary's, the setting to make is named", () => {
  throws(() => readSettings({ CHAIN_PORT: "65535" }), /CHAIN_PORT and SECONDARY1_PORT are both 65535: set one/);
});
