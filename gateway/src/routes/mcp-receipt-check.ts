import { verifyProof } from "@inference/protocol/merkle-tree";
import { isSignedBy, readSignedReceipt } from "@inference/protocol/signed-receipt";
import type { generationAnswer } from "@inference/protocol/wire/answers";
import { hexToBytes } from "viem";
import type * as z from "zod";
import type { GatewayContext } from "../http/context.ts";

type Check = { check: string; result: "pass" | "fail" | "skipped"; finding: string };
type Receipt = z.infer<typeof generationAnswer>["data"];

/**
 * The checks of one receipt that need nothing beside it and the gateway's receipt key.
 *
 * @param answer The answer of GET /api/v1/generation.
 */
export async function checkReceipt(context: GatewayContext, answer: unknown) {
  const { data } = answer as z.infer<typeof generationAnswer>;
  const receiptKey = context.get("gateway").receiptKey.publicKey;
  const { id, charge_nano_usd, settlement } = data;
  const checks = [await checkSignature(data, receiptKey), checkStatement(data)];
  return { data: { id, charge_nano_usd, status: settlement?.status ?? null, receipt_key: receiptKey, checks } };
}

async function checkSignature({ id, charge_nano_usd, signed_receipt }: Receipt, key: `0x${string}`): Promise<Check> {
  const check = "signature";
  if (signed_receipt === null) {
    return { check, result: "skipped", finding: "Nothing was charged to the balance, so there is no signed receipt." };
  }
  if (!(await isSignedBy(hexToBytes(key), signed_receipt))) {
    return { check, result: "fail", finding: "The receipt key did not sign this receipt." };
  }
  const { jti, cost_nano_usd } = readSignedReceipt(signed_receipt) ?? {};
  return jti === id && cost_nano_usd === charge_nano_usd
    ? { check, result: "pass", finding: `The receipt key signed a charge of ${charge_nano_usd} nano-dollars.` }
    : { check, result: "fail", finding: `The signed receipt is of ${jti}, with ${cost_nano_usd} nano-dollars.` };
}

function checkStatement({ settlement }: Receipt): Check {
  const check = "statement";
  const { statement, leaf, proof } = settlement ?? {};
  const root = statement?.root ?? null;
  if (root === null || !leaf || !proof) {
    return {
      check,
      result: "skipped",
      finding: "There is no proof of one use: no statement has it yet, or a large one.",
    };
  }
  return verifyProof(bytes(root), bytes(leaf), proof.map(bytes))
    ? { check, result: "pass", finding: `The statement with the root ${root} contains the charge.` }
    : { check, result: "fail", finding: `The proof does not lead to the root ${root}.` };
}

function bytes(hex: string): Uint8Array {
  return hexToBytes(hex as `0x${string}`);
}
