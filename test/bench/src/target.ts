/** A process that forwards chat completions to an upstream. */
export interface Target {
  readonly name: string;
  /** The reason that it cannot run here; undefined if it can. */
  missing(): Promise<string | undefined>;
  /** `upstreamOrigin` serves the provider's API under `/api/v1`. Resolves when requests can be sent. */
  start(upstreamOrigin: string): Promise<RunningTarget>;
}

export interface RunningTarget {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** The path of chat completions on it. */
  readonly path: string;
  /** A set of headers for each credential; connections use them in turn. At least one, possibly empty. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  /** The processes, counted with their children. */
  readonly pids: readonly number[];
  /** Ends the processes and removes their files. */
  stop(): Promise<void>;
}
