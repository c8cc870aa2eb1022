import { createByteOutput } from "../../bytes.ts";
import { isNothingDelivered } from "../../pricing/quote.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import { readSseEvent, shownData } from "./sse-event.ts";
import type { SseTally } from "./sse-tally.ts";
import type { RelayOptions, Segment, SseRelay } from "./sse-tap.ts";
import { usageEventJson } from "./usage-json.ts";

const encoder = new TextEncoder();

/** Passes a chat stream on byte for byte, but for what its client must not see. */
export function createSseRelay({ secrets, includeUsage, charged }: RelayOptions, tally: SseTally): SseRelay {
  const output = createByteOutput();
  let lastPassed = true;

  function pass({ text, bytes, start, end }: Segment): void {
    if (secrets.isIn(text)) {
      const clean = encoder.encode(withoutSecrets(text, secrets));
      output.add(clean, 0, clean.length);
      lastPassed = clean.length > 0;
    } else {
      output.add(bytes, start, end);
      lastPassed = true;
    }
  }

  function write(data: string): void {
    const bytes = encoder.encode(`data: ${secrets.remove(data)}\n\n`);
    output.add(bytes, 0, bytes.length);
  }

  function writeUsage(): void {
    if (!includeUsage) return;
    const result = tally.result();
    write(usageEventJson(tally.head(), charged(result), result.upstreamId));
  }

  return {
    begin() {
      lastPassed = false;
    },
    content(event, segment) {
      const shown = shownData(event);
      if (shown === null) pass(segment);
      else write(shown);
      return null;
    },
    counted: (event) => event,
    pass,
    endLine(bytes) {
      if (lastPassed) output.add(bytes, 0, bytes.length);
    },
    complete: writeUsage,
    fail(fault, body) {
      const { usage, delivered } = tally.result();
      // After any fault but a cut, a usage may still come.
      const isFinal = typeof usage === "object" || (fault.kind === "cut" && !isNothingDelivered(delivered));
      if (isFinal) writeUsage();
      write(JSON.stringify(body));
    },
    take: output.take,
  };
}

/** Removes keys. An event that cannot be read without them is dropped, and a comment becomes an empty one. */
function withoutSecrets(segment: string, secrets: SecretFilter): string {
  if (segment[0] === ":") return `:${/[\r\n]*$/.exec(segment)?.[0]}`;
  const clean = secrets.remove(segment);
  const { kind } = readSseEvent(clean);
  return kind === "content" || kind === "done" ? clean : "";
}
