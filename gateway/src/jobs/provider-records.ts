import type { ReceiptRow } from "@inference/ledger/tables";
import { within } from "@inference/protocol/timers";
import type { Gateway } from "../gateway.ts";

/** The provider's records of answers that were cut off here. */
export type Records = {
  /** The answer's usage, in the form of a `usage` member; undefined if the provider has no record of it. */
  usageOf(hold: ReceiptRow): Promise<unknown>;
};

type Row = Record<string, unknown> | null | undefined;
type History = {
  rows: readonly Row[];
  /** There is no further page. */
  isWhole: boolean;
};

const RECORD_MS = 10_000;

/**
 * Reads the records of these holds. If the provider has a record for each answer, each is read by itself. If it has a
 * history, that is read once for all holds, from the time of the first. An answer that may be beyond its first page is
 * looked up again, from its own time.
 */
export function openRecords(gateway: Gateway, holds: readonly ReceiptRow[]): Records {
  const { recordUrl } = gateway.config.upstream;
  const recorded = holds.filter(({ upstreamId }) => upstreamId !== null);
  const since = Math.min(...recorded.map(({ admittedAt }) => admittedAt));
  const isOwn = recordUrl?.includes("{id}") ?? true;
  let shared: Promise<History | undefined> | undefined;
  return {
    async usageOf({ upstreamId, admittedAt }) {
      if (recordUrl === null || upstreamId === null) return undefined;
      const own = { upstreamId, admittedAt };
      if (isOwn) return usageIn(await readHistory(gateway, own), upstreamId);
      shared ??= readHistory(gateway, { upstreamId, admittedAt: since });
      const history = await shared;
      const usage = usageIn(history, upstreamId);
      const maybeLater = history !== undefined && !history.isWhole && admittedAt > since;
      return usage === undefined && maybeLater ? usageIn(await readHistory(gateway, own), upstreamId) : usage;
    },
  };
}

/** Undefined if it cannot be read. The checkpoint decides then. */
async function readHistory(
  gateway: Gateway,
  answer: { upstreamId: string; admittedAt: number },
): Promise<History | undefined> {
  const { environment, provider } = gateway;
  try {
    const text = await within(environment.timers, RECORD_MS, (signal) => provider.record(answer, signal));
    if (text === null) return undefined;
    const record = JSON.parse(text) as { data?: unknown; nextCursor?: unknown } | null;
    const rows = (Array.isArray(record?.data) ? record.data : [record?.data]) as Row[];
    return { rows, isWhole: record?.nextCursor === null };
  } catch {
    return undefined;
  }
}

/**
 * The token counts in a provider's record: `{data: {tokens_prompt, tokens_completion}}` (a generation record), or rows
 * `{data: [{inferenceDetails: {requestId, promptTokens, completionTokens}}]}` (a usage history).
 */
function usageIn(history: History | undefined, upstreamId: string): unknown {
  for (const row of history?.rows ?? []) {
    const details = row?.inferenceDetails as Row;
    if (details?.requestId === upstreamId) {
      return { prompt_tokens: details.promptTokens, completion_tokens: details.completionTokens };
    }
    if (row?.id === upstreamId) {
      return {
        prompt_tokens: row.native_tokens_prompt ?? row.tokens_prompt,
        prompt_tokens_details: { cached_tokens: row.native_tokens_cached ?? 0 },
        completion_tokens: row.native_tokens_completion ?? row.tokens_completion,
      };
    }
  }
  return undefined;
}
