import type { VerifiedCredential } from "../auth/credentials.ts";
import { limits } from "../config.ts";
import { requirePayer } from "../inference/funding.ts";
import type { GatewayContext } from "./context.ts";
import { lookUpCredential } from "./identify.ts";

/** That the sender of a body is known, and can pay where that is what it takes. */
export type SenderProof = {
  /** Throws 401 or 403 for a credential that is not good now. */
  prove(): Promise<void>;
  /**
   * Proves what it takes to have so many bytes of a body read and parsed: undefined where nothing more is to be proven.
   * Throws as `prove`, and 503 `overloaded` for who has nothing to spend while memory is scarce.
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
      // A moment ago its partition said that the credential is good.
      isProven = seen.wasGoodSince(credential.payer.digest, context.get("at") - limits.provenMs);
      return isProven ? undefined : prove();
    },
  };
}
