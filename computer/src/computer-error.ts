/** Why the computer cannot sell, in one line that says what to do. */
export class ComputerError extends Error {
  override readonly name = "ComputerError";
}

/** One line of whatever was thrown. */
export function oneLine(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: unknown; message?: unknown };
  const text = typeof shortMessage === "string" ? shortMessage : typeof message === "string" ? message : String(error);
  return text.replaceAll(/\s*\n\s*/g, " ").trim();
}
