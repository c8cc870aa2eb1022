import type { Log } from "@inference/gateway/environment";

/** Writes one JSON object a line to stderr. It never contains a prompt, an answer or a secret. */
const logLine: Log = (level, event, fields = {}) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`);
};

export { logLine as log };

/** Turns the output of libraries into log lines: the HTTP server prints a stack for each answer that breaks off. */
export function logWhatIsPrinted(log: Log = logLine): void {
  for (const method of ["log", "info", "warn", "error"] as const) {
    console[method] = (...said: unknown[]) => log("warn", "printed", { message: said.map(String).join(" ") });
  }
}
