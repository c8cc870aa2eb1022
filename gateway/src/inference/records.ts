import type { HoldRow } from "@inference/ledger/tables";
import type { Gateway } from "../gateway.ts";

/** What the provider has written down of answers that were cut off here. */
export type Records = {
  /** The answer's usage, as its `usage` would have said it; undefined if the provider says nothing of it. */
  usageOf(hold: HoldRow): Promise<unknown>;
};

type Row = Record<string, unknown> | null | undefined;
type History = {
  rows: readonly Row[];
  /** Nothing was left for another page. */
  isWhole: boolean;
};

const RECORD_MS = 10_000;

/**
 * Reads the records of these holds. Where a record is an answer's own, each is read by itself. Where it is a history
 * since some time, it is read once, since the first of them, and all are looked up in it; one that may lie beyond its
 * first page is asked for again, from its own time on.
 */
export function openRecords(gateway: Gateway, holds: readonly HoldRow[]): Records {
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

/** Undefined if there is none to be had: then what the checkpoint proves decides. */
async function readHistory(
  gateway: Gateway,
  answer: { upstreamId: string; admittedAt: number },
): Promise<History | undefined> {
  const abort = new AbortController();
  const timer = gateway.environment.timers.after(RECORD_MS, () => abort.abort());
  try {
    const text = await gateway.provider.record(answer, abort.signal);
    if (text === null) return undefined;
    const record = JSON.parse(text) as { data?: unknown; nextCursor?: unknown } | null;
    const rows = (Array.isArray(record?.data) ? record.data : [record?.data]) as Row[];
    return { rows, isWhole: record?.nextCursor === null };
  } catch {
    return undefined;
  } finally {
    timer.cancel();
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
