import { within } from "@inference/protocol/timers";
import { limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import type { Provider } from "./provider.ts";

/**
 * Whether the provider accepts the master key. An answer with status 200 shows that it does. That it does not, only a
 * free request of the gateway's own shows, because a customer's request can itself be the cause of a 401, 402 or 403.
 */
export type KeyCheck = {
  /** The provider has served a request with this key. */
  accepted(key: string): void;
  /** The provider has refused a request with this key, and the key may be the cause. */
  doubted(key: string): void;
  readonly isRefused: boolean;
  /** Asks the provider if the state is unknown, or if it refused the key a while ago. Never throws. */
  current(): Promise<KeyState>;
};

export type KeyState =
  | { state: "ok" | "unknown" }
  /** The operator's next action. It contains no secret. */
  | { state: "refused"; status: RefusedStatus; action: string };

const ACTIONS = {
  401: "The provider does not accept UPSTREAM_API_KEY (401): set a key that it accepts, and start again.",
  402: "The provider's account cannot pay (402): add funds there, or raise the limit of UPSTREAM_API_KEY.",
  403: "The provider does not permit the request (403): look at the permissions of UPSTREAM_API_KEY there.",
} as const;
type RefusedStatus = keyof typeof ACTIONS;

const ASK_MS = 3_000;

export function makeKeyCheck(
  masterKey: string,
  { clock, timers, log, background }: Pick<Environment, "clock" | "timers" | "log" | "background">,
  provider: Pick<Provider, "tryKey">,
): KeyCheck {
  let known: KeyState = { state: "unknown" };
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let doubtedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    const status = await tryKey(provider, timers);
    // If the provider did not answer, the state stays the same, and the next question waits for the interval.
    askedAtMs = clock.now();
    if (isRefused(status)) {
      known = { state: "refused", status, action: ACTIONS[status] };
      log("alert", "provider", { alert: known.action });
    } else if (status !== null && provesKey(status)) known = { state: "ok" };
  }

  function askOnce(): Promise<void> {
    if (asking !== null) return asking;
    asking = ask().finally(() => {
      asking = null;
    });
    background(asking);
    return asking;
  }

  const isOld = (atMs: number): boolean => Math.abs(clock.now() - atMs) >= limits.keyCheckMs;

  return {
    accepted(key) {
      if (key === masterKey && known.state !== "ok") known = { state: "ok" };
    },
    // The question itself is a failed request at the provider, so customers cause few of them.
    doubted(key) {
      if (key !== masterKey || known.state === "refused" || !isOld(doubtedAtMs)) return;
      doubtedAtMs = clock.now();
      void askOnce();
    },
    get isRefused() {
      return known.state === "refused";
    },
    async current() {
      if (asking !== null || (known.state !== "ok" && isOld(askedAtMs))) await askOnce();
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
