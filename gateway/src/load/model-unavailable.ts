import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";

/**
 * A model that cannot serve a request now, for no reason that is in the request. The provider bills nothing, so another
 * model may serve it.
 */
export class ModelUnavailable extends GatewayError {
  /** For the receipt. */
  readonly why: string;
  constructor(why: string, detail: ErrorDetail) {
    super(detail);
    this.why = why;
  }
}
