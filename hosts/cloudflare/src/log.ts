import type { Log } from "@inference/gateway/environment";

/** Writes one JSON object a line to the console, which is Workers' log. */
export const log: Log = (level, event, fields = {}) => console.log(JSON.stringify({ level, event, ...fields }));
