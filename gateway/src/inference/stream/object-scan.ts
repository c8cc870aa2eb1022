/** Finds the end of a JSON object in a text that comes in pieces. Each character is read once. */
export type ObjectScan = {
  add(piece: string): void;
  /** Whether the object has ended. False for a text that does not begin with an object. */
  isWhole(): boolean;
};

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

export function createObjectScan(): ObjectScan {
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let state: "before" | "inside" | "whole" | "other" = "before";

  function read(code: number): void {
    if (inString) {
      if (isEscaped) isEscaped = false;
      else if (code === BACKSLASH) isEscaped = true;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === OPEN_OBJECT) depth++;
    else if (code === CLOSE_OBJECT && --depth === 0) state = "whole";
  }

  return {
    add(piece) {
      let at = 0;
      if (state === "before") {
        at = piece.search(/\S/);
        if (at === -1) return;
        state = piece.charCodeAt(at) === OPEN_OBJECT ? "inside" : "other";
      }
      for (; at < piece.length && state === "inside"; at++) read(piece.charCodeAt(at));
    },
    isWhole: () => state === "whole",
  };
}
