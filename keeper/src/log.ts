/** Writes to the log. An `alert` needs the operator's attention. */
export type Log = (level: "info" | "alert", event: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Writes one JSON object a line to stderr. */
export const log: Log = (...line) => {
  process.stderr.write(textOf(...line));
};

/** Writes one JSON object a line to stdout. */
export const tell: Log = (...line) => {
  process.stdout.write(textOf(...line));
};

function textOf(...[level, event, fields = {}]: Parameters<Log>): string {
  return `${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`;
}

/** The message of an error on one line. */
export function oneLine(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: unknown; message?: unknown };
  const text = [shortMessage, message].find((each) => typeof each === "string") ?? String(error);
  return String(text).replaceAll(/\s+/g, " ").trim();
}

/** The same without the node's address, which often contains a secret; at most 300 characters. */
export function reasonOf(error: unknown): string {
  return oneLine(error)
    .replaceAll(/https?:\/\/\S+/g, "the node")
    .slice(0, 300);
}
