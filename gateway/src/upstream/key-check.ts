import { within } from "@inference/protocol/timers";
import { limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import { makeSingleFlight } from "../limits/single-flight.ts";
import type { Provider } from "./provider.ts";

/**
 * Whether the provider accepts the master key. The answers to requests show it. If none was sent yet, or the key was
 * refused a while ago, a request that costs nothing is sent to find out.
 */
export type KeyCheck = {
  /** Reports that a request with this key was answered with this status. */
  answered(key: string, status: number): void;
  /** Asks the provider if the state is unknown, or if it refused the key a while ago. Never throws. */
  current(): Promise<KeyState>;
};

export type KeyState =
  | { state: "ok" | "unknown" }
  /** What the operator has to do. It contains no secret. */
  | { state: "refused"; status: RefusedStatus; action: string };

type RefusedStatus = 401 | 402 | 403;

const ASK_MS = 3_000;

export function makeKeyCheck(
  masterKey: string,
  { clock, timers, log, background }: Pick<Environment, "clock" | "timers" | "log" | "background">,
  provider: Pick<Provider, "tryKey">,
): KeyCheck {
  const once = makeSingleFlight<void>({ background });
  let known: KeyState = { state: "unknown" };
  let knownAtMs = Number.NEGATIVE_INFINITY;

  function learn(state: KeyState): void {
    known = state;
    knownAtMs = clock.now();
  }

  async function ask(): Promise<void> {
    const status = await tryKey(provider, timers);
    // If it could not be asked, the state stays as it was, and it is not asked again at once.
    knownAtMs = clock.now();
    if (isRefused(status)) {
      learn(refused(status));
      log("alert", "provider", { alert: actionFor(status) });
    } else if (status !== null && provesKey(status)) learn({ state: "ok" });
  }

  return {
    answered(key, status) {
      if (key !== masterKey) return;
      if (isRefused(status)) learn(refused(status));
      else if (status === 200) learn({ state: "ok" });
    },
    async current() {
      const isOld = Math.abs(clock.now() - knownAtMs) >= limits.keyCheckMs;
      if (known.state !== "ok" && isOld) await once("key", ask);
      return known;
    },
  };
}

/** The status of the provider's answer to a request without a model; null if it cannot be asked. */
export async function tryKey(
  provider: Pick<Provider, "tryKey">,
  timers: Environment["timers"],
): Promise<number | null> {
  try {
    return await within(timers, ASK_MS, (signal) => provider.tryKey(signal));
  } catch (error) {
    if (error instanceof UpstreamFailure) return null;
    throw error;
  }
}

/** Whether the status shows that the provider accepted the key before it looked at the request. */
function provesKey(status: number): boolean {
  return (status >= 200 && status < 300) || status === 400 || status === 422;
}

function isRefused(status: number | null): status is RefusedStatus {
  return status === 401 || status === 402 || status === 403;
}

function refused(status: RefusedStatus): KeyState {
  return { state: "refused", status, action: actionFor(status) };
}

function actionFor(status: RefusedStatus): string {
  switch (status) {
    case 401:
      return "The provider does not accept UPSTREAM_API_KEY (401): set a key that it accepts, and start again.";
    case 402:
      return "The provider's account cannot pay (402): add funds there, or raise the limit of UPSTREAM_API_KEY.";
    case 403:
      return "The provider does not permit the request (403): look at the permissions of UPSTREAM_API_KEY there.";
  }
}
