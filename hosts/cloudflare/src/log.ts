import type { Log } from "@inference/gateway/environment";

/** A line of JSON for each event, on the console: Workers' log. */
export const log: Log = (level, event, fields = {}) => console.log(JSON.stringify({ level, event, ...fields }));
