import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wav, wavHeader } from "../../../test/audio.ts";
import { measureAudio } from "./audio-length.ts";

const lengthOf = (...parts: (Uint8Array | number[] | string)[]): number | undefined =>
  measureAudio(Buffer.concat(parts.map((part) => Buffer.from(part as string))))?.lengthMs;

describe("WAV is as long as its bytes, whatever its header states", () => {
  test("the stated size of the samples counts nothing", () => {
    assert.deepEqual(measureAudio(wav(1_500)), { format: "wav", type: "audio/wav", lengthMs: 1_500 });
    const samples = Buffer.alloc(16_000);
    for (const dataBytes of [0, 100, 0xffffffd0]) assert.equal(lengthOf(wavHeader({ dataBytes }), samples), 1_000);
    assert.equal(lengthOf(wavHeader({ dataBytes: 0, sampleRate: 1 }), samples), 8_000_000);
  });

  test("samples of no fixed size, and fields that do not agree, are not measured", () => {
    const adpcm = { dataBytes: 0, tag: 17, bits: 8, frameBytes: 1 };
    const fields = [adpcm, { dataBytes: 0, bits: 4 }, { dataBytes: 0, frameBytes: 4 }, { dataBytes: 0, sampleRate: 0 }];
    for (const header of fields) assert.equal(lengthOf(wavHeader(header), Buffer.alloc(1_000)), undefined);
    const second = wavHeader({ dataBytes: 0, sampleRate: 1 }).subarray(12, 36);
    assert.equal(lengthOf(wavHeader({ dataBytes: 0 }).subarray(0, 36), second, "data", Buffer.alloc(1_000)), undefined);
    assert.equal(lengthOf("RIFF....WAVE"), undefined);
  });
});

describe("MP3 is the sum of its frames", () => {
  /** MPEG 1, layer III, 128 kbit/s, 44.1 kHz: 417 bytes of 26.12 ms. */
  const frame = [0xff, 0xfb, 0x90, 0x00, ...new Array(413).fill(0)];
  /** MPEG 2.5, layer III, 8 kbit/s, 8 kHz: 72 bytes of 72 ms, the most for a byte. */
  const slow = [0xff, 0xe3, 0x18, 0x00, ...new Array(68).fill(0)];
  const times = (count: number, one: number[]): number[] => Array.from({ length: count }, () => one).flat();

  test("of all rates, with a tag at either end", () => {
    assert.equal(lengthOf(times(10, frame)), Math.ceil((10 * 1152 * 1000) / 44_100));
    assert.equal(lengthOf(times(10, slow)), 720);
    assert.equal(lengthOf("ID3\u0004\u0000\u0000", [0, 0, 0, 5], "aaaaa", times(10, slow), "TAG".padEnd(128)), 720);
    assert.equal(lengthOf(times(5, frame), times(5, slow)), Math.ceil((5 * 1152 * 1000) / 44_100 + 360));
  });

  test("bytes in no frame count as the slowest ones, so nothing hides behind them", () => {
    assert.ok((lengthOf(times(2, frame), [0], times(100, slow)) ?? 0) >= 7_200);
  });

  test("a free bit rate, another layer and another format after a tag are not measured", () => {
    for (const header of [
      [0xff, 0xfb, 0x00, 0x00],
      [0xff, 0xf1, 0x50, 0x80],
      [0xff, 0xeb, 0x90, 0x00],
    ])
      assert.equal(lengthOf(header, Buffer.alloc(1_000)), undefined);
    assert.equal(lengthOf("ID3\u0004\u0000\u0000", [0, 0, 0, 0], "fLaC", Buffer.alloc(1_000)), undefined);
  });
});

describe("Ogg Opus is the sum of its packets", () => {
  function page(flags: number, packets: (string | number[])[]): Buffer {
    const bodies = packets.map((packet) => Buffer.from(packet as string));
    const table = bodies.flatMap(({ length }) => [...new Array(Math.floor(length / 255)).fill(255), length % 255]);
    const head = Buffer.alloc(27);
    head.write("OggS", "latin1");
    head.writeUInt8(flags, 5);
    head.writeUInt8(table.length, 26);
    return Buffer.concat([head, Buffer.from(table), ...bodies]);
  }
  const begin = [page(2, ["OpusHead"]), page(0, ["OpusTags"])];
  const sixty = [0x18];
  const twoOfTwenty = [0x99, 1, 2, 3];

  test("each by its table of contents, at most 120 ms", () => {
    assert.equal(lengthOf(...begin, page(0, [sixty, sixty, twoOfTwenty]), page(4, [[0x1b, 63]])), 60 + 60 + 40 + 120);
    assert.equal(
      lengthOf(
        ...begin,
        page(
          0,
          Array.from({ length: 200 }, () => [0x1b, 2]),
        ),
      ),
      200 * 120,
    );
  });

  test("a packet over two pages counts once, and one that only claims to be continued counts", () => {
    const long = [0x18, ...new Array(299).fill(0)];
    const [first, rest] = [long.slice(0, 255), long.slice(255)];
    const open = page(0, [first]);
    open.writeUInt8(1, 26);
    assert.equal(lengthOf(...begin, Buffer.concat([open.subarray(0, 28), Buffer.from(first)]), page(1, [rest])), 60);
    assert.equal(lengthOf(...begin, page(1, [sixty])), 60);
  });

  test("bytes in no page count as the shortest packets", () => {
    assert.ok(
      (lengthOf(
        ...begin,
        [0],
        page(
          0,
          Array.from({ length: 200 }, () => [0x1b, 2]),
        ),
      ) ?? 0) >=
        200 * 120,
    );
  });

  test("another codec is not measured, also beside Opus", () => {
    assert.equal(lengthOf(page(2, ["\u0001vorbis"])), undefined);
    assert.equal(lengthOf(page(2, ["OpusHead"]), page(2, ["\u007fFLAC"]), page(0, ["OpusTags"])), undefined);
  });
});

test("no other file is measured, and none breaks the reader", () => {
  for (const text of ["", "R", "OggS", "ID3", "fLaC", "\u001aE\u00df\u00a3", "\u0000\u0000\u0000\u0020ftypM4A "]) {
    assert.equal(lengthOf(Buffer.from(text, "latin1")), undefined, text);
  }
  let state = 7;
  const random = (most: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state % most;
  };
  const files = [wav(50), Buffer.from("OggS"), Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.from("ID3")];
  for (let run = 0; run < 2_000; run++) {
    const file = Buffer.concat([
      files[run % files.length] ?? Buffer.alloc(0),
      Buffer.from(Array.from({ length: random(90) }, () => random(256))),
    ]);
    file.writeUInt8(random(256), random(file.length));
    const { lengthMs = 0 } = measureAudio(file.subarray(0, random(file.length + 1))) ?? {};
    assert.ok(Number.isSafeInteger(lengthMs) && lengthMs >= 0);
  }
});
