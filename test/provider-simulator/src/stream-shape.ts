/** The form of an answer on the wire. Each fault changes one thing of the provider's normal shape. */
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

const LINE_ENDS = { lf: ["\n"], crlf: ["\r\n"], cr: ["\r"], mixed: ["\n", "\r\n", "\r"] };

/** Frames the data of each event. */
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

/** Splits one event at the shape's places, so that no piece is whole by itself. */
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
