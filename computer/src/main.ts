import { ComputerError, oneLine } from "./computer-error.ts";
import { connectGateway } from "./gateway.ts";
import { requireComputer } from "./registry.ts";
import { type Seller, startSelling } from "./seller.ts";
import { readComputerSettings } from "./settings.ts";

/** `npm run computer`: sells until a signal ends it. If it cannot sell, it ends with one line and code 1. */
try {
  const settings = await readComputerSettings(process.env);
  const { agentToken, account, shareBps, pollMs } = settings;
  const gateway = connectGateway(settings.gatewayUrl, { agentToken, account });
  const primary = await gateway.primary();
  const rpcUrl = settings.rpcUrl ?? primary.rpcUrl;
  if (rpcUrl === "") throw new ComputerError("The gateway names no node of the primary chain: set PRIMARY_RPC_URL.");
  const { settlement, registry } = primary;
  const claim = { rpcUrl, chainId: settlement.chainId, registry, agentToken, computer: account.address };
  await requireComputer(claim);
  say(`Computer ${account.address} of agent ${agentToken}, at ${settings.gatewayUrl}.`);
  const explain = (): Promise<void> => requireComputer(claim);
  const seller = startSelling({ gateway, settlement, agentToken, shareBps, pollMs, say, explain });
  stopOnSignals(seller);
  await seller.ended;
} catch (error) {
  fail(error);
}

function stopOnSignals(seller: Seller): void {
  let told = false;
  const stop = (): void => {
    if (told) return;
    told = true;
    seller.stop().then(() => process.exit(0), fail);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function fail(error: unknown): void {
  process.stderr.write(`${oneLine(error)}\n`);
  process.exit(1);
}
