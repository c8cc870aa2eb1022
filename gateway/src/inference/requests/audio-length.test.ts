import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wav, wavHeader } from "../../../test/audio.ts";
import { measureAudio, pageChecksum } from "./audio-length.ts";

type Part = Uint8Array | readonly number[] | string;
const join = (...parts: Part[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))));
const measure = (...parts: Part[]) => measureAudio(join(...parts));
const lengthOf = (...parts: Part[]): number | undefined => measure(...parts)?.lengthMs;
const times = (count: number, one: readonly number[]): number[] => Array.from({ length: count }, () => one).flat();

describe("WAV is sent on as its samples behind a header of ours", () => {
  const second = Buffer.alloc(16_000);

  test("other chunks and a wrong size of the samples are left out", () => {
    const sent = measure(wavHeader({ dataBytes: 16_000 }), second);
    assert.deepEqual([sent?.format, sent?.type, sent?.lengthMs], ["wav", "audio/wav", 1_000]);
    for (const dataBytes of [0, 16_001, 0xffffffd0]) {
      assert.deepEqual(measure(wavHeader({ dataBytes }), second), sent);
    }
    const header = wavHeader({ dataBytes: 16_000 });
    const chunk = join("XMA2", [4, 0, 0, 0], "text");
    const wrapped = [header.subarray(0, 12), chunk, wavHeader({ sampleRate: 96_000 }).subarray(12, 36)] as const;
    assert.deepEqual(measure(...wrapped, chunk, header.subarray(12), second, chunk), sent);
  });

  test("PCM of 16 bits has the same values in 24, where no decoder finds another format", () => {
    const samples = [0x72, 0xf8, 0x1f, 0x4e, 0xff, 0xe3, 0x18, 0xc0];
    const { bytes = new Uint8Array() } = measure(wavHeader({ dataBytes: 8 }), samples) ?? {};
    assert.deepEqual([...bytes.subarray(44)], [0, 0x72, 0xf8, 0, 0x1f, 0x4e, 0, 0xff, 0xe3, 0, 0x18, 0xc0]);
    assert.deepEqual(
      Buffer.from(bytes.subarray(0, 44)),
      wavHeader({ dataBytes: 12, bits: 24, frameBytes: 3 }),
      "the header says so",
    );
  });

  test("samples that decoders read in two ways are refused", () => {
    const formats = [
      { tag: 17, bits: 8, frameBytes: 1 },
      { tag: 3, bits: 32, frameBytes: 4 },
      { tag: 7, bits: 8, frameBytes: 1 },
      { tag: 7, bits: 4096, frameBytes: 512 },
      { tag: 6, bits: 64, frameBytes: 8 },
      { bits: 8, frameBytes: 1 },
      { bits: 24, frameBytes: 3 },
      { tag: 3, bits: 64, frameBytes: 8 },
      { frameBytes: 4 },
      { sampleRate: 1 },
      { sampleRate: 400_000 },
      { channels: 0, frameBytes: 0 },
      { channels: 9, frameBytes: 18 },
    ];
    for (const format of formats) assert.equal(lengthOf(wavHeader(format), second), undefined, JSON.stringify(format));
    assert.equal(lengthOf(wavHeader().subarray(0, 12), "data", [0, 0, 0, 0], second), undefined);
    assert.equal(lengthOf("RIFF....WAVE"), undefined);
  });

  test("an extensible format counts if all of its bits are valid and its GUID is the standard one", () => {
    const guid = "000000001000800000aa00389b71";
    const extended = (validBits: number, end = guid) => {
      const head = wavHeader({ tag: 0xfffe }).subarray(0, 36);
      head.writeUInt32LE(40, 16);
      return join(head, [22, 0, validBits, 0, 4, 0, 0, 0, 1, 0], Buffer.from(end, "hex"), "data", [0, 0, 0, 0], second);
    };
    assert.equal(lengthOf(extended(16)), 1_000);
    assert.equal(lengthOf(extended(8)), undefined);
    assert.equal(lengthOf(extended(16, guid.replace("71", "72"))), undefined);
  });
});

describe("MP3 is sent on as its frames", () => {
  /** MPEG 1, 128 kbit/s, 44.1 kHz: 417 bytes of 26.12 ms. */
  const frame = [0xff, 0xfb, 0x90, 0x00, ...new Array(413).fill(0)];
  /** MPEG 2.5, 8 kbit/s, 8 kHz: 72 bytes of 72 ms, the most for a byte. */
  const slow = [0xff, 0xe3, 0x18, 0x00, ...new Array(68).fill(0)];
  const frameMs = (count: number): number => Math.ceil((count * 1152 * 1000) / 44_100);
  /** Eight frames of 32 kbit/s come first, of silence. */
  const slowMs = (count: number): number => 8 * 72 + count * 72;
  const tag = (size: number, fields: readonly number[] = [4, 0, 0]): Buffer =>
    join("ID3", fields, [(size >> 21) & 255, (size >> 14) & 127, (size >> 7) & 127, size & 127], Buffer.alloc(size));
  const ape = join("APETAGEX", [0, 0, 0, 0], [0, 1, 0, 0], Buffer.alloc(16), Buffer.alloc(256));

  test("of all rates; tags between them cost nothing", () => {
    const sent = measure(times(20, frame));
    assert.deepEqual([sent?.format, sent?.type, sent?.lengthMs], ["mp3", "audio/mpeg", frameMs(8 + 20)]);
    assert.equal(lengthOf(times(10, slow)), slowMs(10));
    const joined = [tag(100_000), times(10, frame), tag(90), tag(7, [3, 0, 0x10]), Buffer.alloc(10), times(10, frame)];
    assert.deepEqual(measure(...joined, ape, "TAG".padEnd(128)), sent);
  });

  test("the bytes that decide on a format are frames of silence, so that no other format is found in the client's", () => {
    // ffmpeg reads a file with these eight bytes as NUT, at any position.
    const nut = Buffer.from("4e4d7a561f5f04ad", "hex");
    for (const given of [frame, slow]) {
      const forged = [...given.slice(0, 4), ...nut, ...given.slice(12)];
      const { bytes = new Uint8Array() } = measure(times(9, forged)) ?? {};
      const start = Buffer.from(bytes).indexOf(Buffer.from(forged));
      assert.ok(start >= 2_048, `${start}`);
      assert.deepEqual([...bytes.subarray(start)], times(9, forged));
      assert.deepEqual(new Set(bytes.subarray(0, start)), new Set([0, ...bytes.subarray(0, 4)]));
    }
  });

  test("the frame that claims how many there are is left out", () => {
    for (const name of ["Xing", "Info", "VBRI"]) {
      const claim = [...frame.slice(0, 36), ...Buffer.from(name), ...frame.slice(40)];
      assert.deepEqual(measure(claim, claim, times(9, frame)), measure(times(9, frame)));
    }
  });

  test("a few bytes in no frame are left out, and more are refused", () => {
    assert.deepEqual(
      measure("noise", times(9, frame), Buffer.alloc(4_000), times(9, frame), frame.slice(9)),
      undefined,
    );
    const kept = measure([0], times(9, frame), Buffer.alloc(3_000, "x"), times(9, frame), frame.slice(0, 99));
    assert.deepEqual(kept, measure(times(16, frame)), "the last frame before other bytes may be none");
    assert.equal(lengthOf(times(9, frame), Buffer.alloc(6_000), times(9, frame)), undefined);
  });

  test("a tag of a size that is none hides no frames", () => {
    const forged = join("ID3", [4, 0, 0, 0x80, 0, 0x7f, 0x7f]);
    assert.equal(lengthOf(forged, times(100, slow), slow), slowMs(101));
  });

  test("frames of two kinds, among which a decoder may find others, are refused", () => {
    const at = (rate: number): number[] => [0xff, 0xfd, 0xe0 | rate, 0xc0];
    /** Layer II of 384 kbit/s, then layer III of two rates, around frames of 8 kbit/s. */
    for (const [one, other, sizes] of [
      [at(8), at(4), [1728, 1152]],
      [
        [0xff, 0xfb, 0xe8, 0],
        [0xff, 0xfb, 0xe4, 0],
        [1440, 960],
      ],
      [
        [0xff, 0xfb, 0xe4, 0],
        [0xff, 0xfb, 0xe4, 0x40],
        [960, 960],
      ],
    ] as const) {
      const outer = Array.from({ length: 40 }, (_, index) => {
        const bytes = Buffer.alloc(sizes[index % 2] as number);
        bytes.set(index % 2 === 0 ? one : other);
        return bytes;
      });
      assert.equal(lengthOf(...outer), undefined);
    }
    assert.equal(lengthOf(times(9, frame), times(100, slow)), undefined);
  });

  test("a free bit rate, another layer and another format after a tag are refused", () => {
    for (const header of [
      [0xff, 0xfb, 0x00, 0x00],
      [0xff, 0xf1, 0x50, 0x80],
      [0xff, 0xfd, 0x90, 0x00],
      [0xff, 0xeb, 0x90, 0x00],
    ])
      assert.equal(lengthOf(header, Buffer.alloc(1_000)), undefined);
    assert.equal(lengthOf(tag(0), "fLaC", Buffer.alloc(1_000)), undefined);
  });
});

describe("Ogg Opus is the sum of its packets", () => {
  type Page = { number: number; flags?: number; serial?: number; position?: bigint; table?: readonly number[] };
  function page({ number, flags = 0, serial = 7, position = 0n, table }: Page, ...packets: Part[]): Buffer {
    const bodies = packets.map((packet) => join(packet));
    const sizes = bodies.flatMap(({ length }) => [...new Array(Math.floor(length / 255)).fill(255), length % 255]);
    const head = Buffer.alloc(27);
    head.write("OggS", "latin1");
    head.writeUInt8(flags, 5);
    head.writeBigUInt64LE(position, 6);
    head.writeUInt32LE(serial, 14);
    head.writeUInt32LE(number, 18);
    head.writeUInt8((table ?? sizes).length, 26);
    const whole = Buffer.concat([head, Buffer.from(table ?? sizes), ...bodies]);
    whole.writeUInt32LE(pageChecksum(whole), 22);
    return whole;
  }
  const opusHead = join("OpusHead", [1, 2, 56, 1, 0x80, 0xbb, 0, 0, 0, 0, 0]);
  const start = page({ number: 0, flags: 2 }, opusHead);
  const begin = [start, page({ number: 1 }, "OpusTags")];
  const sixty = [0x18];
  const packets = (...all: Part[]): Buffer => page({ number: 2 }, ...all);

  test("a page has the checksum of RFC 3533", () => {
    // The first pages of a file by ffmpeg.
    const written = "T2dnUwACAAAAAAAAAAAP62wiAAAAACKZYRQBE09wdXNIZWFkAQE4AYC7AAAAAAA=";
    const bytes = Buffer.from(written, "base64");
    assert.equal(pageChecksum(bytes), bytes.readUInt32LE(22));
  });

  test("each by its table of contents, at most 120 ms", () => {
    const all = [...begin, packets(sixty, sixty, [0x99, 1, 2, 3]), page({ number: 3, flags: 4 }, [0x1b, 63], [0x1b])];
    assert.deepEqual(measure(...all), {
      ...{ format: "ogg", type: "audio/ogg", lengthMs: 60 + 60 + 40 + 120 + 120 },
      bytes: Buffer.concat(all),
    });
    assert.equal(lengthOf(...begin, packets(...Array.from({ length: 200 }, () => [0x1b, 2]))), 200 * 120);
    assert.equal(lengthOf(...begin, packets([], sixty)), 180, "decoders differ in an empty packet");
  });

  test("a packet over two pages counts once, and one that only claims to be continued is refused", () => {
    const long = [0x18, ...new Array(299).fill(0)];
    const open = page({ number: 2, table: [255] }, long.slice(0, 255));
    const rest = { number: 3, flags: 1 };
    assert.equal(lengthOf(...begin, open, page(rest, long.slice(255))), 60);
    assert.equal(lengthOf(...begin, open, page({ number: 3 }, long.slice(255))), undefined);
    assert.equal(lengthOf(...begin, page({ number: 2, flags: 1 }, sixty)), undefined);
  });

  test("pages that a decoder skips or reads in another way are refused", () => {
    const last = packets(sixty);
    assert.equal(lengthOf(...begin, last), 60);
    const inner = page({ number: 3 }, ...Array.from({ length: 50 }, () => [0x1b, 2]));
    const forged = packets(inner);
    forged.writeUInt32LE(0xdeadbeef, 22);
    const others = {
      "a wrong checksum": forged,
      "another version": page({ number: 2 }, sixty).fill(1, 4, 5),
      "another stream": page({ number: 2, serial: 8 }, sixty),
      "a second beginning": page({ number: 2, flags: 2 }, opusHead),
      "a gap": page({ number: 3 }, sixty),
      "a position after the last packet": page({ number: 2, position: 60n * 48n + 1n }, sixty),
      "a page that is cut off": last.subarray(0, -1),
      "other bytes": join(last, [0]),
      "bytes that are no page": Buffer.alloc(100),
    };
    for (const [name, other] of Object.entries(others)) assert.equal(lengthOf(...begin, other), undefined, name);
    assert.equal(lengthOf(...begin, page({ number: 2, position: 60n * 48n }, sixty)), 60);
    assert.equal(lengthOf(...begin, page({ number: 2, position: 2n ** 64n - 1n }, sixty)), 60);
  });

  test("another codec, a head without a beginning and a head of more channels are refused", () => {
    const rest = [page({ number: 1 }, "OpusTags"), packets(sixty)];
    assert.equal(lengthOf(page({ number: 0, flags: 2 }, "\u0001vorbis"), ...rest), undefined);
    assert.equal(lengthOf(page({ number: 0 }, "\u007fFLAC"), ...rest), undefined);
    assert.equal(lengthOf(page({ number: 0 }, opusHead), ...rest), undefined);
    assert.equal(lengthOf(page({ number: 0, flags: 2 }, Buffer.from(opusHead).fill(1, 18)), ...rest), undefined);
    assert.equal(lengthOf(start, page({ number: 1 }, sixty), packets(sixty)), undefined, "without its tags");
  });
});

test("no other file is measured, and none breaks the reader", () => {
  for (const text of ["", "R", "OggS", "ID3", "fLaC", "\u001aE\u00df\u00a3", "\u0000\u0000\u0000\u0020ftypM4A "]) {
    assert.equal(lengthOf(text), undefined, text);
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
