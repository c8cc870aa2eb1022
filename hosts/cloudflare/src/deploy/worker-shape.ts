/**
 * The Worker's configuration on Cloudflare and on local workerd. A deployed migration must not be changed: another
 * class needs another migration after it.
 */
export const workerShape = {
  name: "inference-gateway",
  compatibilityDate: "2026-06-01",
  /** `enable_request_signal`: only the request's signal shows that a client has disconnected. */
  compatibilityFlags: ["nodejs_compat", "enable_request_signal"],
  objects: [
    { binding: "PARTITION", className: "PartitionObject" },
    { binding: "CHAIN", className: "ChainObject" },
  ],
  migrations: [{ tag: "v1", newSqliteClasses: ["PartitionObject", "ChainObject"] }],
  keyValue: "KEY_VALUE",
} as const;
