import { fail } from "@inference/protocol/errors";
import { dayNumber } from "@inference/protocol/window";
import { batchAnswer } from "@inference/protocol/wire/settlement";
import { json, ok } from "../docs/operation.ts";
import { presentedCredential } from "../http/credential.ts";
import { requireAccount } from "../http/identify.ts";
import { amounts } from "../http/money.ts";
import { toBatchObject } from "./batches.ts";
import { endpoint } from "./endpoint.ts";
import { authenticatedErrors } from "./endpoint-errors.ts";

export const getBatch = endpoint({
  method: "GET",
  path: "/api/v1/batches/{id}",
  id: "getBatch",
  group: "Settlement",
  title: "A batch",
  about:
    "Without a credential, what the chain says of it. A wallet's session adds the uses of its account, and an API key " +
    "its own, each with the proof that the settlement contract's `verify` takes. Nobody sees those of another account.",
  credentials: [],
  pathParameters: { id: "The batch's id." },
  answers: [ok("The batch.", json("BatchAnswer", batchAnswer))],
  errors: ["not_found", "wrong_identity", ...authenticatedErrors],
  async handle(context) {
    const { batches, environment } = context.var.gateway;
    const id = context.req.param("id") ?? "";
    const account = presentedCredential(context) === undefined ? undefined : await requireAccount(context);
    const batch = /^[1-9]\d{0,11}$/.test(id) ? await batches.find(Number(id)) : null;
    if (batch === null) return fail("not_found", `There is no batch \`${id}\`. GET /api/v1/batches lists them.`);
    if (account === undefined) return context.json({ data: toBatchObject(batch) });
    const all = await batches.provenUses(batch, account.account);
    const { partition, keyId } = account;
    const ids = all.map(({ use }) => use.id);
    const own = keyId === undefined ? ids : await environment.ledger.read(partition, { type: "ofKey", keyId, ids });
    const isOwn = new Set(own);
    const uses = all.filter(({ use }) => isOwn.has(use.id));
    const leaves = uses.map(({ use, leaf, proof }) => ({
      id: use.id,
      ...amounts({ charge: use.chargeNanoUsd }),
      day_served: dayNumber(use.admittedAt),
      served_by: use.server,
      offer: use.offer,
      leaf,
      proof,
    }));
    return context.json({ data: { ...toBatchObject(batch), leaves } });
  },
});
