import assert from "node:assert/strict";
import { test } from "node:test";
import { usageOf } from "../../../test/metering/prices.ts";
import {
  type Delivered,
  nothingDelivered,
  type Quote,
  quoteImage,
  quoteSpeech,
  quoteText,
} from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage, reportedOnce } from "../../pricing/usage.ts";
import { type AnswerKind, answerKind, type Conclusion, conclude, type Ending, unknownBill } from "./conclusion.ts";

/** The settlement matrix of ARCHITECTURE.md, row by row, in nano-dollars. */
const NANO = 1_000_000_000n;
const terms = { snapshotId: "s", promptTokens: 100, choices: 1, maxTokens: 50, modelMaxTokens: 50 };
/** The input tokens cost up to 200, the output tokens up to 500. */
const text = quoteText({ ...terms, price: { kind: "text", rates: { input: 2n * NANO, output: 10n * NANO } } });
const free = quoteText({ ...terms, price: { kind: "text", rates: { input: 0n, output: 0n } } });
const images = (count: number): Quote =>
  quoteImage({
    ...{ snapshotId: "s", resolution: "*", quality: undefined, count },
    price: { kind: "image", byResolution: { "*": 100n * NANO } },
  });
const speech = quoteSpeech({ snapshotId: "s", characters: 30, price: { kind: "speech", character: 10n * NANO } });

/** 160 for input tokens and 200 for output tokens. */
const usage = reportedOnce(usageOf({ promptTokens: 80, completionTokens: 20 }));
/** 800, which is 100 above the hold. */
const largeUsage = reportedOnce(usageOf({ promptTokens: 100, completionTokens: 60 }));
const malformed = reportedOnce("malformed");
const laterUsage: ReportedUsage = { ...usage, malformedUsage: true };

const tokens = (events: number): Delivered => ({ bytes: 1, events });
/** One token, and a usage of 45 output tokens before the end. */
const tokensAndUsage: Delivered = { ...tokens(1), atLeast: usageOf({ completionTokens: 45 }) };
const came = (events: number): Delivered => ({ bytes: 0, events });
const blocked = (events: number): Delivered => ({ bytes: 0, events, isBlocked: true });

type AnswerEnding = Extract<Ending, { kind: "answer" }>;

function nothing(mayBill: AnswerKind | null, reported: ReportedUsage = nothingReported): Ending {
  return { kind: "nothing", why: "a test", mayBill, ...reported };
}

function answer(as: AnswerKind, delivered: Delivered, more: Partial<AnswerEnding> = {}): Ending {
  const state = { complete: true, clientGone: false, givenUp: false };
  return { kind: "answer", as, delivered, ...state, ...nothingReported, ...more };
}

const cut = { complete: false };
/** The client left after the end. */
const gone = { clientGone: true };
const left = { complete: false, clientGone: true };
/** The client left, and the gateway read this much in total. */
const readTo = (events: number) => ({ ...left, read: tokens(events) });
const givenUp = { complete: false, givenUp: true };

type Row = [
  what: string,
  quote: Quote,
  ending: Ending,
  charge: Conclusion["basis"],
  chargeNanoUsd: number,
  loss: number,
];

/** Each row: the case, its quote and ending, the basis of the charge, the charge, and our loss. */
const rows: Row[] = [
  ["the provider was not reached, or refused", text, nothing(null), "nothing", 0, 0],
  ["the provider failed and reported a usage", text, nothing(null, usage), "nothing", 0, 360],
  ["a stream without an answer", text, nothing("stream"), "nothing", 0, 200],
  ["a whole answer that cannot be read", text, nothing("whole"), "nothing", 0, 700],
  ["a whole answer that cannot be read, with a usage", text, nothing("whole", usage), "nothing", 0, 360],
  ["images that cannot be read, with a usage", images(3), nothing("whole", usage), "nothing", 0, 300],

  ["a whole answer with a usage", text, answer("whole", tokens(10), usage), "usage", 360, 0],
  ["a stream with a usage", text, answer("stream", tokens(10), usage), "usage", 360, 0],
  ["a usage without content", text, answer("stream", nothingDelivered, usage), "usage", 360, 0],
  ["a usage after the client left", text, answer("stream", tokens(5), { ...readTo(40), ...usage }), "usage", 360, 0],

  ["a whole answer without a usage", text, answer("whole", tokens(10)), "delivered", 300, 0],
  ["a whole answer with nothing in it", text, answer("whole", nothingDelivered), "nothing", 0, 700],
  ["a stream without a usage", text, answer("stream", tokens(10)), "delivered", 300, 0],
  ["a stream with nothing in it", text, answer("stream", nothingDelivered), "nothing", 0, 200],
  ["a free stream with nothing in it", free, answer("stream", nothingDelivered), "delivered", 0, 0],
  ["a stream that was cut", text, answer("stream", tokens(10), cut), "delivered", 300, 0],
  ["a large answer that was cut", text, answer("whole", tokens(10), cut), "delivered", 300, 0],
  ["a stream that was cut after a usage", text, answer("stream", tokensAndUsage, cut), "delivered", 450, 0],
  ["a stream longer than it may be", text, answer("stream", tokens(99), cut), "delivered", 700, 0],

  ["a stream that its client left", text, answer("stream", tokens(10), left), "delivered", 300, 0],
  ["a stream that was read on", text, answer("stream", tokens(10), readTo(15)), "delivered", 300, 50],
  ["a late stream that its client left", text, answer("stream", nothingDelivered, left), "delivered", 200, 0],
  ["a late stream that was read on", text, answer("stream", nothingDelivered, readTo(4)), "delivered", 200, 40],
  ["a whole answer that its client left", text, answer("whole", nothingDelivered, left), "hold", 700, 0],
  ["a large answer that its client left", text, answer("whole", tokens(10), left), "hold", 700, 0],
  ["a stream, then its client left", text, answer("stream", tokens(10), gone), "delivered", 300, 0],
  ["a whole answer, then its client left", text, answer("whole", tokens(10), gone), "delivered", 300, 0],
  ["a stream that was given up", text, answer("stream", tokens(10), givenUp), "delivered", 300, 400],
  ["a late stream that was given up", text, answer("stream", nothingDelivered, givenUp), "delivered", 200, 500],
  ["a whole answer that was given up", text, answer("whole", nothingDelivered, givenUp), "hold", 700, 0],

  ["all images", images(3), answer("whole", came(3)), "flat", 300, 0],
  ["more images than were asked for", images(3), answer("whole", came(5)), "flat", 300, 0],
  ["fewer images", images(3), answer("whole", came(2)), "flat", 200, 100],
  ["no image", images(3), answer("whole", came(0)), "nothing", 0, 300],
  ["images with a usage", images(3), answer("whole", came(2), usage), "flat", 200, 100],
  ["images whose client left", images(3), answer("whole", came(0), left), "flat", 300, 0],
  ["fewer images, then their client left", images(3), answer("whole", came(2), gone), "flat", 200, 100],
  ["images that failed, with a usage", images(3), nothing(null, usage), "nothing", 0, 0],
  ["images that were given up", images(3), answer("whole", came(1), givenUp), "flat", 300, 0],

  ["a single image that was blocked", images(1), answer("whole", blocked(0)), "nothing", 0, 0],
  ["a single image that was blocked and came", images(1), answer("whole", blocked(1)), "nothing", 0, 0],
  ["one image of three that was blocked", images(3), answer("whole", blocked(2)), "flat", 200, 0],
  ["two images of three that were blocked", images(3), answer("whole", blocked(1)), "flat", 100, 100],
  ["all images, one of them blocked", images(3), answer("whole", blocked(3)), "flat", 200, 0],
  ["no image, one of them blocked", images(3), answer("whole", blocked(0)), "nothing", 0, 200],
  ["blocked images that were cut", images(3), answer("whole", blocked(1), cut), "flat", 100, 100],
  ["blocked images, then their client left", images(3), answer("whole", blocked(1), gone), "flat", 100, 100],
  ["blocked images whose client left", images(3), answer("whole", blocked(1), left), "flat", 200, 0],
  ["blocked images that were given up", images(3), answer("whole", blocked(0), givenUp), "flat", 200, 0],

  ["speech", speech, answer("stream", tokens(1)), "flat", 300, 0],
  ["speech that was cut", speech, answer("stream", tokens(1), cut), "flat", 300, 0],
  ["late speech that its client left", speech, answer("stream", nothingDelivered, left), "flat", 300, 0],
  ["speech that its client left", speech, answer("stream", tokens(1), left), "flat", 300, 0],
  ["speech without a sound", speech, answer("stream", nothingDelivered), "nothing", 0, 300],
];

for (const [what, quote, ending, basis, chargeNanoUsd, lossNanoUsd] of rows) {
  test(`${what}: ${chargeNanoUsd} charged by ${basis}, ${lossNanoUsd} lost`, () => {
    const outcome = basis === "nothing" ? "release" : "settle";
    const told = { alert: null, exceedsBound: false };
    assert.deepEqual(conclude(quote, ending), { outcome, chargeNanoUsd, lossNanoUsd, basis, ...told });
  });
}

test("a usage above the hold costs the hold, and the operator is told of the rest", () => {
  const alert = "the provider reported more than the request could use";
  const charged = {
    outcome: "settle",
    chargeNanoUsd: 700,
    lossNanoUsd: 100,
    basis: "usage",
    alert,
    exceedsBound: true,
  };
  for (const malformedUsage of [false, true]) {
    const ending = answer("whole", tokens(50), { ...largeUsage, malformedUsage });
    assert.deepEqual(conclude(text, ending), charged);
  }
});

test("a malformed usage is charged as an unknown one, and the operator is told, unless the price is flat", () => {
  const alert = "the provider reported a usage that cannot be";
  for (const [quote, ending] of [
    [text, answer("stream", tokens(10))],
    [text, answer("whole", tokens(10))],
    [text, answer("stream", nothingDelivered)],
    [text, nothing("whole")],
  ] as const) {
    assert.deepEqual(conclude(quote, { ...ending, ...malformed }), { ...conclude(quote, ending), alert });
  }
  const later = conclude(text, answer("stream", tokens(10), laterUsage));
  assert.deepEqual([later.chargeNanoUsd, later.alert], [360, alert], "a later usage counts");
  const flat = answer("whole", came(3));
  assert.deepEqual(conclude(images(3), { ...flat, ...malformed }), conclude(images(3), flat));
});

test("no ending costs more than the hold or less than nothing, and nothing is charged for a release", () => {
  const flags = [true, false];
  let endings = 0;
  for (const quote of [text, images(3), speech]) {
    for (const reported of [nothingReported, usage, largeUsage, malformed]) {
      const all: Ending[] = [null, "stream", "whole"].map((mayBill) => nothing(mayBill as AnswerKind | null, reported));
      for (const complete of flags)
        for (const clientGone of flags)
          for (const isGivenUp of flags)
            for (const as of ["stream", "whole"] as const)
              for (const delivered of [nothingDelivered, tokens(10), tokens(99), blocked(1)])
                for (const read of [delivered, tokens(99)]) {
                  const state = { complete, clientGone, givenUp: isGivenUp, read, ...reported };
                  all.push(answer(as, delivered, state));
                }
      for (const ending of all) {
        endings += 1;
        const { outcome, chargeNanoUsd, lossNanoUsd, basis } = conclude(quote, ending);
        assert.ok(chargeNanoUsd >= 0 && chargeNanoUsd <= quote.maxNanoUsd && lossNanoUsd >= 0, JSON.stringify(ending));
        assert.equal(outcome === "release", basis === "nothing");
        if (outcome === "release") assert.equal(chargeNanoUsd, 0);
      }
    }
  }
  assert.equal(endings, 3 * 4 * (3 + 128));
});

test("an answer that is sent as it comes counts as a stream", () => {
  assert.equal(answerKind({ passesThrough: false }, { stream: true }), "stream");
  assert.equal(answerKind({ passesThrough: true }, { stream: false }), "stream");
  assert.equal(answerKind({ passesThrough: false }, { stream: false }), "whole");
  assert.deepEqual([unknownBill(text, "stream"), unknownBill(text, "whole")], [200, 700]);
});
