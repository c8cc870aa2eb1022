import type { Log, LogFields } from "@inference/gateway/environment";

/** One line of JSON. It never contains a prompt, an answer or a secret. */
export function logText(level: Parameters<Log>[0], event: string, fields: LogFields = {}): string {
  return `${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`;
}

/** Writes a line to stderr. */
export const log: Log = (...line) => {
  process.stderr.write(logText(...line));
};

/** Writes what a command came to as a line on stdout. */
export function tell(event: string, fields?: LogFields): void {
  process.stdout.write(logText("info", event, fields));
}

/** Turns the output of libraries into log lines: the HTTP server prints a stack for each answer that breaks off. */
export function logWhatIsPrinted(): void {
  for (const method of ["log", "info", "warn", "error"] as const) {
    console[method] = (...said: unknown[]) => log("warn", "printed", { message: said.map(String).join(" ") });
  }
}
