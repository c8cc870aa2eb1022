/**
 * Runs something until a signal ends it. Ends with one line and a non-zero code if it cannot start, or not stop
 * cleanly.
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

/** One line for whoever started the process: it runs, and what for. */
export function announce(event: string, chains: readonly (string | number)[]): void {
  process.stdout.write(`${JSON.stringify({ event, chains })}\n`);
}

function exitWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
