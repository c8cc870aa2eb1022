import type { Partition } from "@inference/ledger/partition";
import { GatewayError } from "@inference/protocol/errors";
import { limits } from "../../config.ts";
import type { Gateway } from "../../gateway.ts";
import { type BodyJob, type BodyParser, type ReadBody, readBody, readForm, type SentBodyJob } from "./body-job.ts";
import type { OrderContext } from "./order.ts";

/**
 * Reads the body of an account or identity: a small one at once, a larger one when it is its sender's turn, and one
 * above `limits.wholeBodyBytes` in another thread, where the host has one.
 */
export async function readBodyOf<T>(
  gateway: Gateway,
  partition: Partition,
  parser: BodyParser<T>,
  job: BodyJob,
): Promise<ReadBody<T>> {
  const { readLargeBody } = gateway.environment;
  const length = job.blocks.reduce((sum, block) => sum + block.length, 0);
  if (readLargeBody !== undefined && length > limits.wholeBodyBytes) {
    const context = orderSettings(gateway, partition);
    const sent = { ...job, parser: parser.name, context, snapshot: gateway.prices.known() ?? null };
    // The host's thread has the parser of this name.
    return (await readLargeBody(sent)) as ReadBody<T>;
  }
  const { formType } = job;
  if (formType !== undefined) {
    if (length > limits.parsedBodyBytes) await gateway.turns.wait(partition);
    return readForm(parser, { ...job, formType }, () => orderContext(gateway, partition));
  }
  const read = () => readBody(parser, job, () => orderContext(gateway, partition));
  return length <= limits.parsedBodyBytes ? read() : gateway.turns.run(partition, read);
}

/** Returns the parsed body. Throws its refusal. */
export function requireParsed<T>(read: ReadBody<T>): T {
  if ("refusal" in read) throw new GatewayError(read.refusal);
  return read.parsed;
}

/** Throws 503 while the prices are not known. */
function orderContext(gateway: Gateway, partition: Partition): OrderContext {
  const snapshot = gateway.prices.current();
  return { ...orderSettings(gateway, partition), reasoningSeal: gateway.reasoningSeal, snapshot };
}

function orderSettings({ config, credentials }: Gateway, partition: Partition): SentBodyJob["context"] {
  const { aliases, chatExtras, chatOutputField, defaultOutputTokens } = config.upstream;
  const user = credentials.pseudonym(partition);
  return { account: partition, user, aliases, chatExtras, chatOutputField, defaultOutputTokens };
}
