import { formatUsd, type NanoUsd } from "@inference/protocol/money";
import { within } from "@inference/protocol/timers";
import type { UpstreamConfig } from "../config.ts";
import { type Environment, UpstreamFailure, type UpstreamRequest } from "../environment.ts";
import { asObject, parseJson } from "../json-object.ts";
import { readBytes } from "./provider.ts";

/** Keys at the provider under the operator's account, each with a limit for a UTC day. */
export type SubKeys = {
  create(terms: { description: string; limitNanoUsd: NanoUsd; expiresAt: number }): Promise<SubKey>;
  /** False if the provider has no such key. */
  limit(id: string, limitNanoUsd: NanoUsd): Promise<boolean>;
};
export type SubKey = { id: string; secret: string };

const CALL_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * The provider's key-management API. Both calls throw `UpstreamFailure` if they fail.
 *
 * @param adminKey The key that can manage keys. It is used nowhere else.
 */
export function makeSubKeys(
  config: Pick<UpstreamConfig, "baseUrl">,
  adminKey: string,
  { upstream, timers }: Pick<Environment, "upstream" | "timers">,
): SubKeys {
  async function call(method: UpstreamRequest["method"], body: string): Promise<{ status: number; text: string }> {
    const headers = {
      authorization: `Bearer ${adminKey}`,
      accept: "application/json",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "user-agent": "inference-gateway",
    };
    const url = `${config.baseUrl}/api_keys`;
    return within(timers, CALL_MS, async (signal) => {
      const response = await upstream.send({ method, url, headers, body, signal });
      const text = new TextDecoder().decode(await readBytes(response.body, MAX_ANSWER_BYTES));
      return { status: response.status, text };
    });
  }

  return {
    async create({ description, limitNanoUsd, expiresAt }) {
      const terms = { apiKeyType: "INFERENCE", description, expiresAt: new Date(expiresAt).toISOString() };
      const { status, text } = await call("POST", withLimit(terms, limitNanoUsd));
      const created = status === 200 ? createdKey(text) : undefined;
      if (created === undefined) throw new UpstreamFailure("sent", `the provider made no key: it answered ${status}`);
      return created;
    },
    async limit(id, limitNanoUsd) {
      const { status } = await call("PATCH", withLimit({ id }, limitNanoUsd));
      if (status !== 200 && status !== 404) {
        throw new UpstreamFailure("sent", `the provider changed no limit: it answered ${status}`);
      }
      return status === 200;
    },
  };
}

/**
 * Writes the limit's digits from the integer, without a float. The limit bounds both the key's use of the account's
 * daily allowance (`diem`) and its use of the paid balance (`usd`).
 */
function withLimit(terms: object, limitNanoUsd: NanoUsd): string {
  const amount = formatUsd(limitNanoUsd);
  const limit = `"consumptionLimit":{"usd":${amount},"diem":${amount}},"limitPeriod":"EPOCH"`;
  return `${JSON.stringify(terms).slice(0, -1)},${limit}}`;
}

function createdKey(text: string): SubKey | undefined {
  const { id, apiKey } = asObject(asObject(parseJson(text))?.data) ?? {};
  return typeof id === "string" && typeof apiKey === "string" ? { id, secret: apiKey } : undefined;
}
