import type { ApiKey } from "@inference/sdk/keys";
import type { ReactNode } from "react";
import { now } from "../clock.ts";
import { day, usd } from "../format.ts";
import { Amount, Meter } from "../parts.tsx";
import { windowWords } from "./key-sentence.ts";

/** A key with a limit: its name, what is left, and when the limit resets. */
export function KeyLimit({ apiKey }: { apiKey: ApiKey }): ReactNode {
  return (
    <div className="stack tight">
      <div className="row apart">
        <strong className="wrap">{apiKey.name || apiKey.label}</strong>
        <span>
          <Amount nanoUsd={apiKey.limit_remaining_nano_usd ?? 0} /> left
        </span>
      </div>
      <Meter used={apiKey.usage_nano_usd + apiKey.reserved_nano_usd} whole={apiKey.limit_nano_usd ?? 0} />
      <div className="row apart hint">
        <span>
          {usd(apiKey.usage_nano_usd)} of {limitWords(apiKey)}
        </span>
        {apiKey.resets_at === null ? null : <span>{resetWords(apiKey)}</span>}
      </div>
    </div>
  );
}

/** `$10.00 a month`; only for a key with a limit. */
export function limitWords({ limit_nano_usd: limit, limit_reset: reset }: ApiKey): string {
  return limit === null ? "no limit" : `${usd(limit)} ${windowWords[reset ?? "lifetime"]}`;
}

function resetWords({ resets_at: at, limit_reset: reset }: ApiKey): string {
  return reset === "daily" || at === null ? "Resets 00:00 UTC" : `Resets ${day(at)}`;
}

export function isExpired({ expires_at: at }: ApiKey): boolean {
  return at !== null && Date.parse(at) <= now();
}

/** The active keys with a limit, the one with the largest spent part first. */
export function spentFirst(keys: readonly ApiKey[]): ApiKey[] {
  const part = (key: ApiKey): number => (key.usage_nano_usd + key.reserved_nano_usd) / (key.limit_nano_usd || 1);
  return keys
    .filter((key) => key.limit_nano_usd !== null && !key.disabled && !isExpired(key))
    .toSorted((one, other) => part(other) - part(one));
}
