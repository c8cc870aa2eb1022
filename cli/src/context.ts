import type { StateFolder } from "./state-folder.ts";

/** What a command is given: the outside world, and where it prints. */
export type Context = {
  environment: Readonly<Record<string, string | undefined>>;
  folder: StateFolder;
  /** Where relative paths begin. */
  workingFolder: string;
  isJson: boolean;
  /** Prints a line of words, on stderr. */
  say(line: string): void;
  /** Prints data as it comes, on stdout. Not with `--json`. */
  write(text: string): void;
  /** Asks at the terminal. Undefined: its input has ended. Throws `UsageError` where there is none. */
  ask(question: string, options?: { hidden?: boolean; signal?: AbortSignal }): Promise<string | undefined>;
  /** All of stdin, which may be nothing; undefined if it is a terminal. */
  readInput(): Promise<string | undefined>;
  /** Whether stdin and stderr are a terminal. */
  isInteractive: boolean;
  /** Opens a page in the browser, if there is one. */
  openPage(url: string): void;
  /** Done when the output is printed, in this order. */
  afterOutput: (() => void)[];
};
