import type { Log } from "@inference/gateway/environment";

/** One JSON object a line on stderr. What is logged never holds a prompt, an answer or a secret. */
export const log: Log = (level, event, fields = {}) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`);
};

/** What libraries print becomes lines of ours: the HTTP server's prints the stack of each answer that breaks off. */
export function logWhatIsPrinted(): void {
  for (const method of ["log", "info", "warn", "error"] as const) {
    console[method] = (...said: unknown[]) => log("warn", "printed", { message: said.map(String).join(" ") });
  }
}
