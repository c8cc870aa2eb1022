import assert from "node:assert/strict";

type Body = Record<string, unknown>;
type Item = Record<string, unknown>;

/** Texts that are longer are Codex's own prompts and descriptions, and are left out of a recording. */
const MOST_CHARACTERS = 60;

/** A task's first body, and the input items that each later body adds. */
export type CodexRecording = { body: Body; turns: Item[][] };

export function recordingOf(bodies: readonly Body[]): CodexRecording {
  const [body = {}] = bodies;
  const turns = bodies.slice(1).map((next, index) => {
    const before = bodies[index]?.input as Item[];
    const input = next.input as Item[];
    assert.deepEqual(input.slice(0, before.length), before, "the conversation is sent again as it was");
    return input.slice(before.length);
  });
  return {
    body: scrubbed({ ...body, client_metadata: { "x-codex-turn-metadata": "{}" } }),
    turns: turns.map(scrubbed),
  };
}

/** Where a text belongs to the task itself. */
const KEPT = new Set(["arguments", "input", "output"]);

/** Without long texts, and without the folder and the machine. */
function scrubbed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
    if (typeof inner !== "string" || KEPT.has(key) || inner.includes("<script>")) return inner;
    if (key === "encrypted_content") return "sealed";
    const isLong = inner.length > MOST_CHARACTERS || inner.startsWith("<environment_context>");
    return isLong ? `(${inner.length} characters)` : inner;
  }) as T;
}
