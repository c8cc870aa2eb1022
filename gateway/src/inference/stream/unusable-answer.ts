import { GatewayError } from "@inference/protocol/errors";
import { UpstreamFailure } from "../../environment.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";

/** An answer with a status of success of which nothing is for a client: it is free, and the provider may bill it. */
export class UnusableAnswer extends GatewayError {
  readonly reported: ReportedUsage;
  /** False where the provider says that it failed: then it bills what it reports, if anything. */
  readonly mayBill: boolean;
  /** @param what Goes on after "The provider's answer". */
  constructor(what: string, { reported = nothingReported, mayBill = true } = {}) {
    super({ code: "upstream_error", message: `The provider's answer ${what}. Nothing was charged.` });
    this.reported = reported;
    this.mayBill = mayBill;
  }
}

/** An answer that broke off before any of it was sent, with what it had said of its usage by then. */
export class BrokenAnswer extends UpstreamFailure {
  readonly reported: ReportedUsage;
  constructor(why: unknown, reported: ReportedUsage) {
    super("body", String(why));
    this.reported = reported;
  }
}
