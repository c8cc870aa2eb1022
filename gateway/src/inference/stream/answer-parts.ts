import { asObject, type JsonObject, parseJson } from "../../json-object.ts";

/** A part of an answer, as other APIs have them: one after the other, each of one kind. */
export type AnswerPart = TextPart | CallPart;
type TextKind = "text" | "refusal" | "reasoning";
type TextPart = { [Kind in TextKind]: { kind: Kind; text: string } }[TextKind];
/** `text` is the arguments. */
export type CallPart = { kind: "call"; id: string; name: string; text: string };

/** Is told of each part in turn. One part is open at a time. */
export type PartSink = {
  open(part: AnswerPart): void;
  /** The part's text already has the delta at its end. */
  delta(part: AnswerPart, delta: string): void;
  /** @param isWhole Whether the model came to the part's end. */
  close(part: AnswerPart, isWhole: boolean): void;
};

/**
 * Makes parts of a chat answer's deltas. A chat answer may go on with any of its calls at any time. Of calls that are
 * interleaved, the first is passed on at once and the others when it is complete.
 */
export type AnswerParts = {
  /** A choice's `delta`, or its whole `message`. */
  add(delta: JsonObject, isMessage?: boolean): void;
  /** @param isWhole False if the answer stopped at its limit. */
  end(isWhole: boolean): void;
};

export function createAnswerParts(sink: PartSink, makeCallId: () => string): AnswerParts {
  let open: AnswerPart | undefined;
  /** They follow the open part, which is a call, once that is complete. */
  let waiting: AnswerPart[] = [];
  /** The calls by their place in the answer. */
  const calls = new Map<number, CallPart>();
  let lastCall = -1;

  function start(part: AnswerPart): void {
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
    sink.close(open, isWhole);
    open = undefined;
  }

  /** Passes on what waits, as far as the parts before it are complete. */
  function goOn(): void {
    while (waiting.length > 0 && (open === undefined || isComplete(open))) {
      close(true);
      start(waiting.shift() as AnswerPart);
    }
  }

  function append(part: AnswerPart, delta: string): void {
    part.text += delta;
    if (part === open) sink.delta(part, delta);
  }

  function begin(part: AnswerPart): void {
    waiting.push(part);
    goOn();
  }

  function addText(kind: TextKind, delta: string): void {
    if (delta === "") return;
    const last = waiting.at(-1) ?? open;
    if (last?.kind === kind) append(last, delta);
    else begin({ kind, text: delta });
  }

  /** @param place The call's place in a whole message. */
  function addCall(delta: unknown, place?: number): void {
    const { index, id, function: called } = asObject(delta) ?? {};
    const { name, arguments: given } = asObject(called) ?? {};
    // Some providers send an object.
    const text = asObject(given) === undefined ? textOf(given) : JSON.stringify(given);
    const isNew = typeof id === "string" && id !== "" && calls.get(lastCall)?.id !== id;
    const next = isNew ? lastCall + 1 : Math.max(lastCall, 0);
    const at = place ?? (typeof index === "number" ? index : next);
    lastCall = at;
    const known = calls.get(at);
    const part: CallPart = known ?? { kind: "call", id: textOf(id) || makeCallId(), name: "", text: "" };
    if (known === undefined) calls.set(at, part);
    // A part begins when its name is known.
    const begins = part.name === "" && textOf(name) !== "";
    if (begins) part.name = textOf(name);
    append(part, text);
    if (begins) begin(part);
    else if (waiting.length > 0 && text.includes("}")) goOn();
  }

  return {
    add(delta, isMessage = false) {
      addText("reasoning", textOf(delta.reasoning_content) || textOf(delta.reasoning) || detailsText(delta));
      addText("text", contentText(delta.content));
      addText("refusal", textOf(delta.refusal));
      if (!Array.isArray(delta.tool_calls)) return;
      for (const [place, call] of delta.tool_calls.entries()) addCall(call, isMessage ? place : undefined);
    },
    end(isWhole) {
      for (const part of waiting) {
        close(open === undefined || isComplete(open));
        start(part);
      }
      waiting = [];
      close(isWhole || (open !== undefined && isComplete(open)));
    },
  };
}

/** Whether nothing can follow in a part: text may always be followed by another part, a call when it is an object. */
function isComplete(part: AnswerPart): boolean {
  return part.kind !== "call" || asObject(parseJson(part.text)) !== undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Some providers send reasoning as details alone; most send it as text too. */
function detailsText({ reasoning_details: details }: JsonObject): string {
  if (!Array.isArray(details)) return "";
  return details.map((each) => textOf(asObject(each)?.text) || textOf(asObject(each)?.summary)).join("");
}

/** A text, or a list of parts. */
function contentText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return content.map((part) => (typeof part === "string" ? part : textOf(asObject(part)?.text))).join("");
}
