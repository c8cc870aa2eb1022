/** Writes to the log. An `alert` needs the operator's attention. */
export type Log = (level: "info" | "alert", event: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Writes one JSON object a line to stderr. */
export const log: Log = (level, event, fields = {}) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`);
};

/** An error as one line, without the node's address, which often contains a secret. */
export function reasonOf(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: unknown; message?: unknown };
  const text = typeof shortMessage === "string" ? shortMessage : typeof message === "string" ? message : String(error);
  return text
    .replaceAll(/https?:\/\/\S+/g, "the node")
    .replaceAll(/\s+/g, " ")
    .slice(0, 300);
}
