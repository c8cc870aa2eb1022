import { fail } from "@inference/protocol/errors";
import type { GatewayConfig } from "../config.ts";
import type { Environment } from "../environment.ts";
import { BoundedMap } from "./bounded-map.ts";

/**
 * Counts, by account, the files of which the provider reported more audio than they hold. A client can forge such a
 * file, so the model stays in service and the account is refused.
 */
export type LongAudio = {
  /** Throws 403 `model_not_allowed` for an account with `MOST_REPORTS` such files, unless UPSTREAM_PROBE permits them. */
  check(account: string): void;
  note(account: string): void;
};

/** Such files of one account since the start of the process. */
const MOST_REPORTS = 3;
const MAX_ACCOUNTS = 10_000;

export function makeLongAudio(
  { upstream }: { upstream: Pick<GatewayConfig["upstream"], "probe"> },
  { log }: Pick<Environment, "log">,
): LongAudio {
  const reports = new BoundedMap<string, number>(MAX_ACCOUNTS);
  return {
    check(account) {
      if ((reports.get(account) ?? 0) < MOST_REPORTS) return;
      const message =
        `The provider reported more audio than ${MOST_REPORTS} of your files hold, so your account gets no ` +
        "transcriptions for now. Ask the operator. Your other requests are served.";
      fail("model_not_allowed", message);
    },
    note(account) {
      if (upstream.probe !== "strict") return;
      const times = (reports.get(account) ?? 0) + 1;
      reports.set(account, times);
      if (times === MOST_REPORTS) log("alert", "long_audio", { account });
    },
  };
}
