import type { Log } from "@inference/gateway/environment";

/** One JSON object a line on stderr. What is logged never holds a prompt, an answer or a secret. */
export const log: Log = (level, event, fields = {}) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`);
};
