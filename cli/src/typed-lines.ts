import { PassThrough } from "node:stream";
import type { ReadStream } from "node:tty";

/** Stands for a line's end in a pasted text while it is edited. */
const LINE_END = "\u23ce";
const [BEGIN, FINISH] = ["\x1b[200~", "\x1b[201~"];

/** Asks the terminal to mark pasted text, and not to. */
export const markPastes = { on: "\x1b[?2004h", off: "\x1b[?2004l" };

/**
 * A terminal's input, one line at a time: text after a line's end waits for the next question, and the lines of a
 * pasted text are one line, with a sign in place of their ends.
 */
export function typedLines(terminal: ReadStream): { open(): PassThrough; close(): void; unmark(line: string): string } {
  let waiting = "";
  let feed: (text: string) => void = () => {};
  const onData = (text: string): void => feed(text);
  return {
    open() {
      const input = Object.assign(new PassThrough({ encoding: "utf8" }), {
        setRawMode: (isRaw: boolean) => terminal.setRawMode(isRaw),
      });
      feed = (text) => {
        const all = waiting + text;
        waiting = "";
        const { line, rest } = firstLine(all);
        waiting = rest;
        if (line !== "") input.write(line);
        // The next line waits.
        if (/[\r\n]$/.test(line)) feed = (more) => (waiting += more);
      };
      terminal.setEncoding("utf8").on("data", onData);
      terminal.resume();
      if (waiting !== "") queueMicrotask(() => feed(""));
      return input;
    },
    close() {
      terminal.off("data", onData);
      terminal.pause();
    },
    unmark: (line) => line.replaceAll(LINE_END, "\n"),
  };
}

/** The text up to the first line's end that was typed. A paste that has not ended is all rest. */
function firstLine(text: string): { line: string; rest: string } {
  let line = "";
  for (let at = 0; at < text.length; ) {
    if (text.startsWith(BEGIN, at)) {
      const end = text.indexOf(FINISH, at);
      if (end === -1) return { line, rest: text.slice(at) };
      line += text
        .slice(at + BEGIN.length, end)
        .trimEnd()
        .replaceAll(/\r\n|\r|\n/g, LINE_END);
      at = end + FINISH.length;
      continue;
    }
    line += text[at];
    at += 1;
    if (/[\r\n]$/.test(line)) return { line, rest: text.slice(at).replace(/^\n/, "") };
  }
  return { line, rest: "" };
}
