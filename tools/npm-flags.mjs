// The flags of the programs behind npm's scripts. `npm start --fresh` gives the flag to npm, which puts it into the
// environment, and not to the program: it is meant as `npm start -- --fresh`. Help and version are npm's own, and stay so.
export const flags = {
  "test/devnet/src/main.ts": ["fresh"],
  "hosts/node/src/main.ts": ["check", "settings"],
  "tools/test.ts": ["name", "watch", "inspect", "serial", "deep", "part", "budgets"],
  "contracts/script/deploy-main.ts": ["send", "verify"],
  "hosts/cloudflare/src/local/main.ts": ["wrangler"],
  "test/conformance/src/deployment/main.ts": ["model", "worker", "deploy"],
  "hosts/cloudflare/src/deploy/main.ts": ["env", "config"],
  "test/bench/src/main.ts": ["host", "rounds", "seconds", "only", "connections", "quick"],
};

/**
 * The flags of a program that npm took for its own.
 *
 * @param {string} script
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @returns {string[]}
 */
export function flagsTakenByNpm(script, environment) {
  return (flags[script] ?? []).flatMap((name) => {
    const value = environment[`npm_config_${name}`];
    if (value === undefined || value === "" || value === "false") return [];
    return [value === "true" ? `--${name}` : `--${name}=${value}`];
  });
}
