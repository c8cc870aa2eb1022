/** Why the devnet cannot start or go on, in one line that says what to do. */
export class DevnetError extends Error {
  override readonly name = "DevnetError";
}

/** One line of whatever was thrown. */
export function oneLine(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: unknown; message?: unknown };
  const text = typeof shortMessage === "string" ? shortMessage : typeof message === "string" ? message : String(error);
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}
