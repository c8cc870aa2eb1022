/** Marks of a text's colours: private characters, which a terminal never gets. `painted` turns them into its codes. */
const styles = { bold: "\ue001", red: "\ue002", green: "\ue003", yellow: "\ue004", dim: "\ue005" } as const;
const END = "\ue000";
/** The terminal codes of the marks, in the order of the marks. */
const CODES = [0, 1, 31, 32, 33, 2];
const MARKS = /[\ue000-\ue005]/g;

export function styled(style: keyof typeof styles, text: string): string {
  return `${styles[style]}${text}${END}`;
}

/** Replaces the marks by the terminal's codes, or removes them. Each line ends without a colour. */
export function painted(text: string, isColored: boolean): string {
  if (!isColored) return text.replaceAll(MARKS, "");
  const ended = text.replaceAll(/[\ue001-\ue005][^\ue000\n]*$/gm, (open) => open + END);
  return ended.replaceAll(MARKS, (mark) => `\x1b[${CODES[mark.charCodeAt(0) - 0xe000]}m`);
}

export function widthOf(text: string): number {
  return text.replaceAll(MARKS, "").length;
}

/**
 * Breaks lines between words. The rest of a line is indented as its last column that two spaces or more begin in the
 * first half, else as the line itself. A word that is wider than the terminal stays whole.
 */
export function wrapped(text: string, columns: number): string {
  return text
    .split("\n")
    .flatMap((line) => (widthOf(line) <= columns ? [line] : wrapLine(line, columns)))
    .join("\n");
}

function wrapLine(line: string, columns: number): string[] {
  const [indent = ""] = /^\s*(?:- )?/.exec(line) ?? [];
  const gaps = [...line.matchAll(/(?<=\S) {2,}(?=\S)/g)].map(({ index, 0: gap }) => line.slice(0, index + gap.length));
  const hanging = gaps.findLast((start) => widthOf(start) <= columns / 2) ?? indent;
  const lines: string[] = [];
  let current = hanging;
  for (const word of line.slice(hanging.length).split(" ")) {
    const isFirst = current === hanging || current.trim() === "";
    const next = isFirst ? current + word : `${current} ${word}`;
    if (isFirst || widthOf(next) <= columns) {
      current = next;
      continue;
    }
    lines.push(current);
    current = " ".repeat(widthOf(hanging)) + word;
  }
  return [...lines, current];
}

/** Breaks a text that comes in parts, as `wrapped` does. Code between fences is not changed. `end` gives the last word. */
export function wrapParts(columns: number): { next(part: string): string; end(): string } {
  let [column, gap, word, lineStart] = [0, "", "", ""];
  let isCode = false;
  const put = (): string => {
    const isTooWide =
      column > 0 && column + gap.length + word.length > columns && !isCode && !lineStart.startsWith("```");
    const text = isTooWide ? `\n${word}` : gap + word;
    column = isTooWide ? word.length : column + text.length;
    [gap, word] = ["", ""];
    return text;
  };
  const take = (character: string): string => {
    if (lineStart.length < 3 && character !== "\n") lineStart += character;
    if (character !== "\n" && character !== " ") {
      word += character;
      return "";
    }
    const text = word === "" ? "" : put();
    if (character === " ") {
      gap += " ";
      return text;
    }
    if (lineStart === "```") isCode = !isCode;
    const whole = `${text}${gap}\n`;
    [column, gap, lineStart] = [0, "", ""];
    return whole;
  };
  return { next: (part) => [...part].map(take).join(""), end: () => (word === "" ? gap : put()) };
}
