import type { Api } from "./load-plan.ts";

/** Something that forwards chat completions to an upstream, as a process of its own. */
export interface Target {
  readonly name: string;
  /** Ours are held to the goals. */
  readonly ours: boolean;
  /** Undefined if it can run here, else why not. */
  missing(): Promise<string | undefined>;
  /** `upstreamOrigin` serves the provider's API under `/api/v1`. Resolves when requests can be sent. */
  start(upstreamOrigin: string): Promise<RunningTarget>;
}

export interface RunningTarget {
  /** Where it listens: `http://127.0.0.1:<port>`. */
  readonly origin: string;
  /** The path of chat completions on it, or of `api`. */
  readonly path: string;
  /** What it is asked by; chat, if there is none. */
  readonly api?: Api;
  /** One set for every credential; connections use them in turn. At least one, possibly empty. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  /** Its processes, whose children are counted with them. */
  readonly pids: readonly number[];
  /** Ends what `start` started and removes what it wrote. */
  stop(): Promise<void>;
}
