import type { VerifiedCredential } from "../../auth/credentials.ts";
import { limits } from "../../config.ts";
import type { SenderProof } from "../../http/body.ts";
import type { GatewayContext } from "../../http/context.ts";
import { lookUpCredential } from "../../http/identify.ts";
import { requirePayer } from "./funding.ts";

/** A class, because one is made for every request, and a class makes its methods once. */
export class CredentialProof implements SenderProof {
  readonly #context: GatewayContext;
  readonly #credential: VerifiedCredential;
  #isProven = false;
  #isPayer = false;

  constructor(context: GatewayContext, credential: VerifiedCredential) {
    this.#context = context;
    this.#credential = credential;
  }

  async prove(): Promise<void> {
    await lookUpCredential(this.#context, this.#credential);
    this.#isProven = true;
  }

  require(bytes: number): Promise<void> | undefined {
    const { bodyMemory, config, seen } = this.#context.get("gateway");
    if (this.#isPayer) return undefined;
    if (bodyMemory.isScarce()) return this.#provePayer();
    if (this.#isProven || bytes <= config.request.unprovenBodyBytes) return undefined;
    // Its partition called the credential valid a moment ago.
    const since = this.#context.get("at") - limits.provenMs;
    this.#isProven = seen.wasGoodSince(this.#credential.payer.digest, since);
    return this.#isProven ? undefined : this.prove();
  }

  async #provePayer(): Promise<void> {
    await this.prove();
    await requirePayer(this.#context.get("gateway"), this.#credential, this.#context.var);
    this.#isPayer = true;
  }
}
