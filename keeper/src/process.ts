/**
 * Runs a service until a signal ends it. If it cannot start, or does not stop cleanly, the process ends with an error
 * of one line.
 */
export function runProcess(name: string, start: () => { stop(): Promise<void> }): void {
  try {
    const running = start();
    const stop = (): void => {
      running.stop().then(
        () => process.exit(0),
        (error: unknown) => exitWith(`The ${name} did not stop cleanly: ${String(error)}`),
      );
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  } catch (error) {
    exitWith(error instanceof Error ? error.message : String(error));
  }
}

/** Prints one line when the process is running. */
export function announce(event: string, chains: readonly (string | number)[]): void {
  process.stdout.write(`${JSON.stringify({ event, chains })}\n`);
}

function exitWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
