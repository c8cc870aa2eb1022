import { startKeeper } from "./keeper.ts";
import { log, tell } from "./log.ts";
import { runProcess } from "./process.ts";
import { readKeeperSettings } from "./settings.ts";

/** The keeper as a process, with settings from its environment. */
process.umask(0o077);
const usage = `Usage: npm run keeper

Makes the calls that anyone may make on the chains: flush, book, deliver, pay, convert, buy. keeper/README.md has more.

Variables of the environment:
  KEEPER_FILE  The JSON file with the settings. deploy/keeper.example.json is one.
  KEEPER_KEY   The private key that pays the gas: 0x and 64 hexadecimal digits.
  RELAY_KEY, RELAY_SECRET
               With a relay: its own private key, and the secret that the gateway has too.

Options:
  --help     Print this text.
  --version  Print the version.
`;

await runProcess({ name: "keeper", usage }, async () => {
  const settings = readKeeperSettings(process.env);
  const keeper = startKeeper(settings, { now: Date.now, log });
  const chains = settings.chains.map(({ name }) => name);
  const relayPort = await keeper.relayPort;
  tell("info", "keeping", { chains, ...(relayPort === null ? {} : { relayPort }) });
  return keeper;
});
