/**
 * What the Worker is, wherever it runs. A migration that was deployed is never changed: another class is another
 * migration behind it.
 */
export const workerShape = {
  name: "inference-gateway",
  compatibilityDate: "2026-06-01",
  /** `enable_request_signal`: that a client left is known by its request's signal alone. */
  compatibilityFlags: ["nodejs_compat", "enable_request_signal"],
  objects: [
    { binding: "PARTITION", className: "PartitionObject" },
    { binding: "CHAIN", className: "ChainObject" },
  ],
  migrations: [{ tag: "v1", newSqliteClasses: ["PartitionObject", "ChainObject"] }],
  keyValue: "KEY_VALUE",
} as const;
