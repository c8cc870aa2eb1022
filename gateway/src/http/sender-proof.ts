import type { VerifiedCredential } from "../auth/credentials.ts";
import { limits } from "../config.ts";
import { requirePayer } from "../inference/funding.ts";
import type { GatewayContext } from "./context.ts";
import { lookUpCredential } from "./identify.ts";

/** Proves that a body's sender is known and, while memory is scarce, can pay. */
export type SenderProof = {
  /** Throws 401 or 403 unless the credential is valid now. */
  prove(): Promise<void>;
  /**
   * Proves what is needed to read and parse so many bytes; undefined if nothing is left to prove. Throws as `prove`,
   * and 503 `overloaded` for a sender without funds while memory is scarce.
   */
  require(bytes: number): Promise<void> | undefined;
};

export function makeSenderProof(context: GatewayContext, credential: VerifiedCredential): SenderProof {
  const gateway = context.get("gateway");
  let isProven = false;
  let isPayer = false;

  async function prove(): Promise<void> {
    await lookUpCredential(context, credential);
    isProven = true;
  }

  async function provePayer(): Promise<void> {
    await prove();
    await requirePayer(gateway, credential, context.var);
    isPayer = true;
  }

  return {
    prove,
    require(bytes) {
      const { heldBodies, config, seen } = gateway;
      if (isPayer) return undefined;
      if (heldBodies.isScarce()) return provePayer();
      if (isProven || bytes <= config.request.unprovenBodyBytes) return undefined;
      // Its partition called the credential valid a moment ago.
      isProven = seen.wasGoodSince(credential.payer.digest, context.get("at") - limits.provenMs);
      return isProven ? undefined : prove();
    },
  };
}
