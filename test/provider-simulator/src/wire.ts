/** The vendor's spelling on the wire: header prefix, parameter object and base path. */
const VENDOR = "venice";
export const HEADER_PREFIX = `x-${VENDOR}-`;
export const PARAMETERS_FIELD = `${VENDOR}_parameters`;
export const SYSTEM_PROMPT_FIELD = `include_${VENDOR}_system_prompt`;
export const BASE_PATH = "/api/v1";
export const CONTROL_PATH = "/__simulator";
export const MAX_JSON_BYTES = 35 * 1024 * 1024;
