import assert from "node:assert/strict";
import { test } from "node:test";
import { type CountedFile, countFiles, sumOf } from "./count.ts";

/**
 * The most lines of code that a package may have, as `npm run count` counts them: of its product, and of its tests with
 * their harness. Solidity counts too. The commit that raises a budget gives the reason. A package that has become
 * smaller by more than SLACK takes its budget along.
 */
const budgets: Readonly<Record<string, { product: number; tests: number }>> = {
  chain: { product: 1750, tests: 2550 },
  cli: { product: 4100, tests: 1750 },
  computer: { product: 200, tests: 250 },
  contracts: { product: 4600, tests: 10_350 },
  dashboard: { product: 10_350, tests: 2500 },
  deploy: { product: 0, tests: 550 },
  docs: { product: 250, tests: 0 },
  gateway: { product: 18_200, tests: 19_500 },
  "hosts/cloudflare": { product: 2550, tests: 5300 },
  "hosts/node": { product: 2550, tests: 10_350 },
  keeper: { product: 2300, tests: 1900 },
  ledger: { product: 3700, tests: 6300 },
  protocol: { product: 3050, tests: 1450 },
  sdk: { product: 3650, tests: 2700 },
  settler: { product: 800, tests: 2350 },
  "test/bench": { product: 0, tests: 2650 },
  "test/conformance": { product: 0, tests: 3950 },
  "test/devnet": { product: 0, tests: 5500 },
  "test/provider-simulator": { product: 0, tests: 5050 },
  tools: { product: 0, tests: 1250 },
};
const SLACK = 200;

test("no package has more lines of code than its budget, and no budget is out of date", () => {
  const packages = Map.groupBy(countFiles(), packageOf);
  const wrong = Object.keys({ ...Object.fromEntries(packages), ...budgets }).flatMap((name) =>
    (["product", "tests"] as const).flatMap((part) => {
      const files = (packages.get(name) ?? []).filter(
        ({ kind }) => kind.startsWith("product") === (part === "product"),
      );
      const { code } = sumOf(files);
      const budget = budgets[name]?.[part] ?? 0;
      if (code > budget) return [`${name}, ${part}: ${code} lines of code are above the budget of ${budget}`];
      return code < budget - SLACK ? [`${name}, ${part}: lower the budget of ${budget} to about ${code}`] : [];
    }),
  );
  assert.deepEqual(wrong, []);
});

function packageOf({ path }: CountedFile): string {
  return /^(hosts|test)\//.test(path) ? path.split("/").slice(0, 2).join("/") : (path.split("/")[0] ?? "");
}
