import type { BudgetName } from "@inference/ledger/commands";
import { ceilingPartition } from "@inference/ledger/partition";
import { type BudgetView, keyBudgets } from "@inference/ledger/reads";
import type { SessionRow } from "@inference/ledger/tables";
import { formatUsd } from "@inference/protocol/money";
import { ownKeyAnswer } from "@inference/protocol/wire/key-answers";
import { readApiKey } from "../auth/api-keys.ts";
import { spenderOf } from "../auth/spender.ts";
import { json, ok } from "../docs/operation.ts";
import type { GatewayContext } from "../http/context.ts";
import { type KeyHolder, requireHolder, type SessionHolder } from "../http/identify.ts";
import { amounts, BALANCE_HEADER } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { toKeyObject } from "./key-object.ts";

/** A session's capacity is at most ten minutes old. */
export const getOwnKey = endpoint({
  prefixes: apiPrefixes,
  path: "/key",
  id: "getOwnKey",
  group: "Keys",
  title: "The key or session that asks",
  about:
    "What it may spend, what it has spent, and which budget would stop it first. A session has the names of a key, " +
    "and for its limit the capacity of its wallet or agent for the day.",
  credentials: ["API key", "session"],
  answers: [ok("The key, or the session.", json("OwnKeyAnswer", ownKeyAnswer))],
  errors: ["upstream_unavailable"],
  async handle(context) {
    const holder = await requireHolder(context);
    const data = "session" in holder ? await describeSession(context, holder) : await describeKey(context, holder);
    return context.json({ data });
  },
});

async function describeKey(context: GatewayContext, { partition, keyId }: KeyHolder) {
  const { gateway, at } = context.var;
  const { ledger } = gateway.environment;
  const [view, usage, balance, ceiling] = await Promise.all([
    readApiKey(gateway, partition, keyId, at),
    ledger.read(partition, { type: "keyUsage", at, keyId }),
    ledger.read(partition, { type: "balance", at }),
    ledger.read(ceilingPartition, { type: "ceiling", at }),
  ]);
  context.header(BALANCE_HEADER, formatUsd(balance.availableNanoUsd ?? 0));
  // In the order in which a reserve checks them.
  const budgets: NamedBudget[] = [
    { name: "balance", view: balance },
    ...keyBudgets(view).map((view) => ({ name: "key" as const, view })),
    { name: "ceiling", view: ceiling },
  ];
  return {
    ...toKeyObject(view),
    ...amounts({ usage_daily: usage.dayNanoUsd, usage_monthly: usage.monthNanoUsd }),
    budgets: budgets.map(({ name, view }) => toBudgetObject(name, view)),
    binds_first: bindsFirst(budgets),
    is_free_tier: false,
    is_management_key: false,
  };
}

async function describeSession(context: GatewayContext, { partition, session }: SessionHolder) {
  const { gateway, at, client } = context.var;
  // A day has no capacity until it was read from the chain.
  await gateway.keyRecords.requireCapacity(spenderOf(session), at, client);
  return toSessionObject(session, await gateway.environment.ledger.read(partition, { type: "capacity", at }));
}

type NamedBudget = { name: BudgetName; view: BudgetView };

/** The budget with the least left. The limit that is checked first, if two have the same amount. */
function bindsFirst(budgets: readonly NamedBudget[]): BudgetName | null {
  let first: { name: BudgetName; left: number } | null = null;
  for (const { name, view } of budgets) {
    const left = view.availableNanoUsd;
    if (left !== null && (first === null || left < first.left)) first = { name, left };
  }
  return first?.name ?? null;
}

/** A session with the field names of a key. Its limit is its identity's capacity of the day. */
function toSessionObject({ address, agentToken, createdAt, expiresAt }: SessionRow, capacity: BudgetView) {
  const { limitNanoUsd, availableNanoUsd, settledNanoUsd, heldNanoUsd, resetsAt } = capacity;
  return {
    address,
    agent_token: agentToken,
    label: agentToken ?? address,
    ...amounts({ limit: limitNanoUsd, limit_remaining: availableNanoUsd }),
    limit_reset: "daily",
    resets_at: isoOrNull(resetsAt),
    ...amounts({ usage: settledNanoUsd, reserved: heldNanoUsd }),
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    budgets: [toBudgetObject("capacity", capacity)],
    binds_first: "capacity",
    is_free_tier: false,
    is_management_key: false,
  };
}

/** A budget as the API shows it. */
function toBudgetObject(name: BudgetName, view: BudgetView): Record<string, unknown> {
  return {
    name,
    window: view.window,
    ...amounts({
      limit: view.limitNanoUsd,
      usage: view.settledNanoUsd,
      reserved: view.heldNanoUsd,
      remaining: view.availableNanoUsd,
    }),
    resets_at: isoOrNull(view.resetsAt),
  };
}
