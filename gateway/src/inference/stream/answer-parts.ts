import type { SecretFilter } from "../../upstream/secret-writings.ts";
import type { CallPiece, ContentPiece, TextKind } from "./choice-content.ts";

/** A part of an answer, as other APIs have them: one after the other, each of one kind. */
export type AnswerPart = TextPart | CallPart;
type TextPart = { [Kind in TextKind]: { kind: Kind; text: string } }[TextKind];
/** `text` is the arguments. */
export type CallPart = { kind: "call"; id: string; name: string; text: string };

/** Is told of each part in turn. One part is open at a time. */
type PartSink = {
  open(part: AnswerPart): void;
  /** The part's text already has the delta at its end. */
  delta(part: AnswerPart, delta: string): void;
  /** @param isWhole Whether the model came to the part's end. */
  close(part: AnswerPart, isWhole: boolean): void;
};

/**
 * Makes parts of a chat answer's content. A chat answer may go on with any of its calls at any time. The first of
 * interleaved calls is passed on at once, the others when the first is complete.
 */
type AnswerParts = {
  /** False if a piece cannot be written, or if there are more than 1,024. Nothing may be added after that. */
  add(content: readonly ContentPiece[]): boolean;
  /** @param isWhole False if the answer stopped at its limit. */
  end(isWhole: boolean): void;
};

/** A call, and how far it has come. */
type Call = CallPart & {
  scan: ObjectScan;
  hasId: boolean;
  /** Its name is complete, and it has its place among the parts. */
  hasBegun: boolean;
};
type Part = TextPart | Call;

/** The most pieces of a message or an event. Each is an object, or a sealed text, in the written answer. */
const MAX_PIECES = 1_024;

/** @param secrets Our keys at the provider. A part is looked through when it is whole, for a key in several pieces. */
export function createAnswerParts(sink: PartSink, makeCallId: () => string, secrets: SecretFilter): AnswerParts {
  let open: Part | undefined;
  /** They follow the open part, which is a call, once that is complete. */
  const waiting: Part[] = [];
  /** The calls by their index in the answer: of several under one index, the last. */
  const calls = new Map<NonNullable<CallPiece["index"]>, Call>();
  let lastCall: Call | undefined;

  function start(part: Part): void {
    open = part;
    sink.open(part);
    if (part.text !== "") sink.delta(part, part.text);
  }

  function close(isWhole: boolean): void {
    if (open === undefined) return;
    if (open.kind === "call" && open.text === "") {
      open.text = "{}";
      sink.delta(open, "{}");
    }
    open.text = secrets.remove(open.text);
    sink.close(open, isWhole);
    open = undefined;
  }

  /** Passes on what waits, as far as the parts before it are complete. */
  function goOn(): void {
    while (waiting.length > 0 && (open === undefined || isComplete(open))) {
      close(true);
      start(waiting.shift() as Part);
    }
  }

  function append(part: Part, delta: string): void {
    part.text += delta;
    if (part === open) sink.delta(part, delta);
  }

  function begin(part: Part): void {
    waiting.push(part);
    goOn();
  }

  /** A name may come in pieces, until arguments or another part follow. */
  function beginLastCall(): void {
    if (lastCall === undefined || lastCall.hasBegun || lastCall.name === "") return;
    lastCall.hasBegun = true;
    lastCall.name = secrets.remove(lastCall.name);
    begin(lastCall);
  }

  function addText(kind: TextKind, delta: string): void {
    beginLastCall();
    const last = waiting.at(-1) ?? open;
    if (last?.kind === kind) append(last, delta);
    else begin({ kind, text: delta });
  }

  function callOf(piece: CallPiece): Call {
    const known = piece.index === undefined ? lastCall : calls.get(piece.index);
    if (known !== undefined && !isAnother(known, piece)) return known;
    beginLastCall();
    const hasId = piece.id !== "";
    const id = hasId ? piece.id : makeCallId();
    lastCall = { kind: "call", id, name: "", text: "", scan: createObjectScan(), hasId, hasBegun: false };
    if (piece.index !== undefined) calls.set(piece.index, lastCall);
    return lastCall;
  }

  function addCall(piece: CallPiece): boolean {
    const call = callOf(piece);
    if (!call.hasBegun && !call.hasId && piece.id !== "") {
      call.id = piece.id;
      call.hasId = true;
    }
    // Some providers repeat the name in each piece.
    if (piece.name !== call.name) {
      if (call.hasBegun && piece.name !== "") return false;
      call.name += piece.name;
    }
    if (piece.text === "") return true;
    if (call.name === "") return false;
    beginLastCall();
    append(call, piece.text);
    call.scan.add(piece.text);
    goOn();
    return true;
  }

  function addPiece(piece: ContentPiece): boolean {
    if (piece.kind === "media") return false;
    if (piece.kind === "call") return addCall(piece);
    if (piece.kind !== "other") addText(piece.kind, piece.text);
    return true;
  }

  return {
    add: (content) => content.length <= MAX_PIECES && content.every(addPiece),
    end(isWhole) {
      beginLastCall();
      for (const part of waiting.splice(0)) {
        close(open === undefined || isComplete(open));
        start(part);
      }
      close(isWhole || (open !== undefined && isComplete(open)));
    },
  };
}

/** Whether a piece begins a call, though its index has one: it has another id, or, without an id, a name of its own. */
function isAnother(call: Call, { id, name, text }: CallPiece): boolean {
  if (id !== "") return call.hasId && call.id !== id;
  if (name === "" || !call.hasBegun) return false;
  return name !== call.name || (text !== "" && call.scan.isWhole());
}

/** Whether nothing can follow in a part: text may always be followed by another part, a call when it is an object. */
function isComplete(part: Part): boolean {
  return part.kind !== "call" || part.scan.isWhole();
}

/** Finds the end of a JSON object in a text that comes in pieces. Each character is read once. */
type ObjectScan = {
  add(piece: string): void;
  /** Whether the object has ended. False for a text that does not begin with an object. */
  isWhole(): boolean;
};

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

function createObjectScan(): ObjectScan {
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
