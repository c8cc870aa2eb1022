/** The command line is wrong. Ends with 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command failed for a reason that is neither the gateway's nor a contract's. Ends with 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
