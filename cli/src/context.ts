import type { StateFolder } from "./state-folder.ts";

export type Screen = { columns?: number | undefined; isColored: boolean };

/** The outside world of a command, and its output. */
export type Context = {
  environment: Readonly<Record<string, string | undefined>>;
  folder: StateFolder;
  /** The base of relative paths. */
  workingFolder: string;
  isJson: boolean;
  /** Prints a line of words, on stderr. */
  say(line: string): void;
  /** Prints data on stdout at once. Prints nothing with `--json`. */
  write(text: string): void;
  /** Asks at the terminal. Undefined: the input has ended. Throws `UsageError` without a terminal. */
  ask(question: string, options?: { hidden?: boolean; signal?: AbortSignal }): Promise<string | undefined>;
  /** All of stdin; undefined: stdin is a terminal. */
  readInput(): Promise<string | undefined>;
  /** Whether stdin and stderr are a terminal. */
  isInteractive: boolean;
  /** Does something that Ctrl-C stops by the signal, instead of ending the process. */
  untilStopped<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** The terminals of data and of words; no columns: not a terminal. */
  stdout: Screen;
  stderr: Screen;
  /** Opens a page in the browser, if there is one. */
  openPage(url: string): void;
  /** Run in this order once the output is printed. */
  afterOutput: (() => void)[];
};
