/** How an answer is put on the wire. The normal shape is the provider's own; each fault differs from it in one way. */
export interface StreamShape {
  readonly eol: "lf" | "crlf" | "cr" | "mixed";
  readonly dataPrefix: string;
  readonly bom: boolean;
  readonly multiline: boolean;
  readonly comments: boolean;
  /** Where one write ends and the next begins. */
  readonly pieces: "event" | "utf8" | "data" | "byte" | "whole";
  readonly gzip: boolean;
  readonly tokens: "all" | "half" | "none" | "endless";
  /** An error event at the point where the tokens stop, or amid them. */
  readonly errorEvent: boolean;
  readonly resumeAfterError: boolean;
  readonly bigEvent: boolean;
  readonly garbage: boolean;
  readonly usage: "once" | "none";
  readonly ending: "done" | "done-twice" | "done-and-more" | "open" | "rst" | "fin" | "stall";
  readonly slow: boolean;
}

export const NORMAL_SHAPE: StreamShape = {
  eol: "lf",
  dataPrefix: "data: ",
  bom: false,
  multiline: false,
  comments: false,
  pieces: "event",
  gzip: false,
  tokens: "all",
  errorEvent: false,
  resumeAfterError: false,
  bigEvent: false,
  garbage: false,
  usage: "once",
  ending: "done",
  slow: false,
};

const half = { tokens: "half", usage: "none" } as const;

const SHAPES: Readonly<Record<string, Partial<StreamShape>>> = {
  "200-error-only": { tokens: "none", errorEvent: true, usage: "none" },
  "error-then-usage": { tokens: "none", errorEvent: true },
  "error-after-content": { ...half, errorEvent: true },
  "error-then-content": { tokens: "half", errorEvent: true, resumeAfterError: true },
  "cut-mid-stream": { ...half, ending: "rst" },
  "cut-fin": { ...half, ending: "fin" },
  "cut-before-done": { usage: "none", ending: "open" },
  stall: { ...half, ending: "stall" },
  "slow-drip": { slow: true },
  "byte-drip": { pieces: "byte", slow: true },
  "endless-body": { tokens: "endless" },
  "no-usage": { usage: "none" },
  "split-utf8": { pieces: "utf8" },
  "split-data": { pieces: "data" },
  crlf: { eol: "crlf" },
  cr: { eol: "cr" },
  "mixed-endings": { eol: "mixed" },
  bom: { bom: true },
  "no-space": { dataPrefix: "data:" },
  "multiline-data": { multiline: true },
  "many-per-chunk": { pieces: "whole" },
  "big-event": { bigEvent: true },
  comments: { comments: true },
  "done-twice": { ending: "done-twice" },
  "trailing-after-done": { ending: "done-and-more" },
  "trailing-garbage": { garbage: true },
  gzip: { gzip: true },
};

export function streamShape(fault: string | null): StreamShape {
  const changes = fault === null ? undefined : SHAPES[fault];
  return changes === undefined ? NORMAL_SHAPE : { ...NORMAL_SHAPE, ...changes };
}

const LINE_ENDS = { lf: ["\n"], crlf: ["\r\n"], cr: ["\r"], mixed: ["\n", "\r\n", "\r"] };

/** Turns each event's data into its bytes on the wire. */
export function createFramer(shape: StreamShape): (data: string) => string {
  const ends = LINE_ENDS[shape.eol];
  let count = 0;
  return (data) => {
    const end = ends[count % ends.length] ?? "\n";
    const start = count === 0 && shape.bom ? "\ufeff" : "";
    count += 1;
    const before = shape.comments ? `: keep-alive${end}${end}event: message${end}id: ${count}${end}` : "";
    const comma = shape.multiline ? data.indexOf(',"') : -1;
    const lines = comma === -1 ? [data] : [data.slice(0, comma + 1), data.slice(comma + 1)];
    return `${start}${before}${lines.map((line) => shape.dataPrefix + line + end).join("")}${end}`;
  };
}

/** Splits one event where the shape says, so that no piece is whole by itself. */
export function split(event: string, pieces: StreamShape["pieces"]): Uint8Array[] {
  const bytes = Buffer.from(event);
  if (pieces === "byte") return Array.from(bytes, (byte) => Buffer.of(byte));
  const at: number[] = [];
  if (pieces === "data" && bytes.length > 2) at.push(2);
  if (pieces === "utf8") {
    for (let i = 0; i < bytes.length; i++) if ((bytes[i] ?? 0) >= 0xc0) at.push(i + 1);
  }
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}
