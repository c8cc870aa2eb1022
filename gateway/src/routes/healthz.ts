import { LedgerUnavailable } from "@inference/ledger/client";
import { ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { isRead } from "@inference/ledger/tables";
import { formatUsd } from "@inference/protocol/money";
import { REFUSED } from "@inference/protocol/settler-status";
import { healthAnswer } from "@inference/protocol/wire/answers";
import { json, ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { endpoint } from "./endpoint.ts";

type Health = "ok" | "unavailable" | "behind";

/**
 * 200 if a paid request could be admitted now, else 503, with the part that is unavailable. 200 and `degraded`, with
 * what the operator has to do, if the provider refuses the gateway's key, the chain's node has never answered, or the
 * settler stopped, is refused, or has not debited what is due.
 */
export const getHealth = endpoint({
  path: "/healthz",
  id: "getHealth",
  group: "Operation",
  title: "Whether a paid request could be admitted now",
  answers: [
    ok(
      "It could; `degraded` with an `action` if the provider refuses the key, the chain's node has never answered, or the " +
        "settler stopped, is refused by the contract, or has not debited an amount that is due for long.",
      json("HealthAnswer", healthAnswer),
    ),
    { status: 503, about: "It could not.", content: json("HealthAnswer", healthAnswer) },
  ],
  async handle(context) {
    const { gateway, at } = context.var;
    const [ledger, key] = await Promise.all([ledgerHealth(gateway, at), gateway.keyCheck.current()]);
    const prices: Health = gateway.prices.known() === undefined ? "unavailable" : "ok";
    const isWell = ledger === "ok" && prices === "ok";
    // A chain that cannot be followed delays credits. Requests are still served.
    const { state: chain, block } = gateway.environment.chain.following();
    const isUnreached = chain === "starting" && block === null;
    const action = key.state === "refused" ? key.action : isUnreached ? CHECK_NODE : settlerAction(gateway, at);
    const status = !isWell ? "unavailable" : action === undefined ? "ok" : "degraded";
    const checks = { ledger, prices, provider: key.state };
    const { rowVersion } = gateway.environment;
    const more = {
      ...(action === undefined ? {} : { action }),
      ...(rowVersion === undefined ? {} : { row_version: rowVersion }),
    };
    return context.json({ status, checks, chain, ...more }, isWell ? 200 : 503);
  },
});

const CHECK_NODE =
  "The chain's node has not answered since the start, so accounts can spend nothing. Check PRIMARY_RPC_URL.";

const SETTLER_LATE_MS = 600_000;
/** A statement that the settler has is on chain within hours, if credit and ceiling have room. */
const DEBIT_LATE_MS = 6 * 3_600_000;

/** The settler's trouble: it stopped, the contract refuses its chunks, or an amount is due for too long. */
function settlerAction({ config, environment }: Gateway, at: number): string | undefined {
  const { state, lastPollAt = null, reason = "see the log", waiting } = environment.settler?.() ?? {};
  if (lastPollAt !== null && at - lastPollAt >= SETTLER_LATE_MS) {
    const since = new Date(lastPollAt).toISOString();
    return `The settler posts nothing since ${since}: ${reason}. Check the chain's node and the log.`;
  }
  if (state !== "waiting") return undefined;
  if (reason.startsWith(REFUSED)) return `The settler posts nothing: ${reason}. Check the settler of the contract.`;
  const { oldestAt = null, accounts = 0, amountNanoUsd = 0 } = waiting ?? {};
  if (oldestAt === null || at - oldestAt < config.posting.intervalMs + DEBIT_LATE_MS) return undefined;
  const since = new Date(oldestAt).toISOString();
  return `$${formatUsd(amountNanoUsd)} of ${accounts} accounts is not debited on chain, the oldest since ${since}: ${reason}.`;
}

async function ledgerHealth({ config, environment }: Gateway, at: number): Promise<Health> {
  try {
    const chain = chainPartition(config.settlement.chainId);
    // Before the chain is read far enough, no account is told its totals, and after a start each has to hear them.
    if (!isRead(await environment.ledger.read(chain, { type: "cursor" }))) return "behind";
    await environment.ledger.read(ceilingPartition, { type: "ceiling", at });
    return environment.ledger.writable ? "ok" : "unavailable";
  } catch (error) {
    if (error instanceof LedgerUnavailable) return "unavailable";
    throw error;
  }
}
