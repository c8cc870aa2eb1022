import { type AnswerWriter, MAX_WRITTEN_CHARACTERS } from "./answer-writer.ts";
import type { Choice, ContentPiece } from "./choice-content.ts";
import { readSseEvent, type SseContentEvent } from "./sse-event.ts";
import type { MakeRelay } from "./sse-relay.ts";
import type { SseFault } from "./sse-tally.ts";

/** A relay that writes a chat stream in the shape of another API. */
export function writingRelay(writer: AnswerWriter): MakeRelay {
  return ({ secrets, charged }, tally) => ({
    begin: () => undefined,
    content(event, { text }) {
      const shown = secrets.isIn(text) ? readSseEvent(secrets.remove(text)) : event;
      if (shown.kind !== "content") return null;
      writer.start(shown.chunk);
      return writeChoices(writer, shown.choices);
    },
    pass: () => undefined,
    endLine: () => undefined,
    counted: writtenOf,
    complete: () => writer.end(charged(tally.result())),
    fail: (_fault, { error }) => writer.fail(error),
    take() {
      const text = writer.take();
      // Small buffers share memory, which is a tenth of the time of an event less than with a TextEncoder.
      return text === "" ? undefined : Buffer.from(text);
    },
  });
}

/** Returns why the choices cannot be written; null if they were. */
export function writeChoices(writer: AnswerWriter, choices: readonly Choice[]): SseFault | null {
  for (const { index, content, finishReason, error } of choices) {
    if (error !== null) return { kind: "provider_error", error };
    // No request of another API asks for a second choice.
    if (index > 0 && content.length > 0) return { kind: "unwritable" };
    if (!writer.add(content)) return { kind: "unwritable" };
    if (index === 0 && finishReason !== null) writer.finish(finishReason);
  }
  return writer.length() > MAX_WRITTEN_CHARACTERS ? { kind: "event_too_large" } : null;
}

/** The event with the content that a writer writes. */
function writtenOf(event: SseContentEvent): SseContentEvent {
  const isWritten = ({ kind }: ContentPiece): boolean => kind !== "other";
  if (event.choices.every(({ content }) => content.every(isWritten))) return event;
  const choices = event.choices.map((choice) => ({ ...choice, content: choice.content.filter(isWritten) }));
  return { ...event, choices };
}
