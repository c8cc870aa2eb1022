/** Audio whose length its own samples, frames or packets bound, whatever its header claims. */
export type MeasuredAudio = {
  /** The file's extension and media type. */
  format: "wav" | "mp3" | "ogg";
  type: string;
  /** The length of `bytes` in milliseconds. */
  lengthMs: number;
  /** The file to send: what was measured, and nothing beside it. */
  bytes: Uint8Array;
};

/**
 * Measures WAV by its samples, MP3 by its frames and Ogg Opus by its packets. WAV and MP3 are written anew, so that a
 * decoder finds nothing else in them. Undefined for any other file, and for one that decoders may read in two ways.
 */
export function measureAudio(bytes: Uint8Array): MeasuredAudio | undefined {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return readWav(data) ?? readOpus(data) ?? readMp3(data);
}

/** Makes no string: a file can have a million places to look at. */
function isAt(data: Buffer, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (data[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

type WavFormat = { channels: number; sampleRate: number };

const PCM = 1;
const PCM_BITS = 16;
const EXTENSIBLE = 0xfffe;
/** The end of the format's GUID, whose beginning is the tag. */
const EXTENSIBLE_GUID = Buffer.from("000000001000800000aa00389b71", "hex");
const MAX_CHANNELS = 8;
const [MIN_SAMPLE_RATE, MAX_SAMPLE_RATE] = [8_000, 192_000];

function readWav(data: Buffer): MeasuredAudio | undefined {
  if (!isAt(data, 0, "RIFF") || !isAt(data, 8, "WAVE")) return undefined;
  let format: WavFormat | undefined;
  for (let at = 12; at + 8 <= data.length; ) {
    const size = data.readUInt32LE(at + 4);
    const rest = data.subarray(at + 8);
    if (isAt(data, at, "fmt ")) format = readFormat(rest.subarray(0, size));
    // Programs that write to a pipe state no size, or a size above the file's.
    if (isAt(data, at, "data")) return writeWav(format, size > 0 ? rest.subarray(0, size) : rest);
    // A chunk is padded to an even length.
    at += 8 + size + (size % 2);
  }
  return undefined;
}

function readFormat(format: Buffer): WavFormat | undefined {
  if (format.length < 16) return undefined;
  const [tag, channels, sampleRate] = [format.readUInt16LE(0), format.readUInt16LE(2), format.readUInt32LE(4)];
  const [frameBytes, bits] = [format.readUInt16LE(12), format.readUInt16LE(14)];
  const isExtensible = tag === EXTENSIBLE && format.length >= 40;
  if (isExtensible && (format.readUInt16LE(18) !== bits || !format.subarray(26, 40).equals(EXTENSIBLE_GUID))) {
    return undefined;
  }
  const kind = isExtensible ? format.readUInt16LE(24) : tag;
  if (kind !== PCM || bits !== PCM_BITS || frameBytes !== (channels * bits) / 8) return undefined;
  if (channels < 1 || channels > MAX_CHANNELS) return undefined;
  return sampleRate < MIN_SAMPLE_RATE || sampleRate > MAX_SAMPLE_RATE ? undefined : { channels, sampleRate };
}

/**
 * PCM goes on with 24 bits, and a third of its bytes are zero: in the bytes of a client ffmpeg finds other formats and
 * decodes these.
 */
function writeWav(format: WavFormat | undefined, samples: Buffer): MeasuredAudio | undefined {
  if (format === undefined) return undefined;
  const { channels, sampleRate } = format;
  const frameBytes = channels * 3;
  const frames = Math.floor(samples.length / (channels * 2));
  const data = widened(samples.subarray(0, frames * channels * 2));
  const header = Buffer.alloc(44);
  header.write("RIFF\0\0\0\0WAVEfmt ", "latin1");
  header.writeUInt32LE(36 + data.length, 4);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(PCM, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(24, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(data.length, 40);
  const lengthMs = Math.ceil((frames * 1000) / sampleRate);
  return { format: "wav", type: "audio/wav", lengthMs, bytes: Buffer.concat([header, data]) };
}

/** Samples of 24 bits with the same values. */
function widened(samples: Buffer): Buffer {
  const wide = Buffer.alloc(Math.floor(samples.length / 2) * 3);
  for (let from = 0, to = 0; to < wide.length; from += 2, to += 3) {
    wide[to + 1] = samples[from] as number;
    wide[to + 2] = samples[from + 1] as number;
  }
  return wide;
}

/** Kilobits per second of layer III by index: MPEG 1, then MPEG 2 and 2.5. */
const BIT_RATES: readonly (readonly number[])[] = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const SAMPLE_RATES: readonly number[] = [44_100, 48_000, 32_000];
/** The version, layer, sample rate, channels and emphasis. A decoder may skip a frame in which one is another. */
const SAME_IN_ALL = 0xfffe0ccf;
/** Bytes in no frame and no tag are left out. A file with more than this and a fiftieth of it is refused. */
const MAX_LOST_BYTES = 4096;

/** The frames of all parts of a file, in order, after some of silence. The frame that claims the length is left out. */
function readMp3(data: Buffer): MeasuredAudio | undefined {
  const bytes = Buffer.alloc(data.length);
  let length = 0;
  let samples = 0;
  let first: Mp3Frame | undefined;
  let lostBytes = 0;
  for (let at = 0; at < data.length; ) {
    const tag = tagBytes(data, at);
    const frame = tag > 0 ? undefined : mp3Frame(data, at);
    const next = at + (frame?.bytes ?? 0);
    const isLast = next === data.length || tagBytes(data, next) > 0;
    if (tag > 0) at += tag;
    else if (
      frame !== undefined &&
      frame.kind === (first ?? frame).kind &&
      (isLast || mp3Frame(data, next)?.kind === frame.kind)
    ) {
      first ??= frame;
      if (length > 0 || !claimsLength(data.subarray(at, next))) {
        length += data.copy(bytes, length, at, next);
        samples += frame.samples;
      }
      at = next;
    } else {
      at++;
      if (++lostBytes > MAX_LOST_BYTES + data.length / 50) return undefined;
    }
  }
  if (first === undefined || length === 0) return undefined;
  const silence = silentFrames(first.kind);
  const lengthMs = Math.ceil(((samples + silence.samples) * 1000) / first.sampleRate);
  return {
    ...{ format: "mp3", type: "audio/mpeg", lengthMs },
    bytes: Buffer.concat([silence.bytes, bytes.subarray(0, length)]),
  };
}

/** ffmpeg decides on a format by these first bytes, if they have seven frames. It knows formats that begin anywhere. */
const PROBED_BYTES = 2048;
const MAX_SILENT_FRAME = 288;

/** Frames of silence that fill the bytes by which a format is decided. */
function silentFrames(kind: number): { bytes: Buffer; samples: number } {
  const one = Buffer.alloc(MAX_SILENT_FRAME);
  let frame: Mp3Frame | undefined;
  for (let rate = 14; frame === undefined; rate--) {
    // Without a checksum.
    one.writeUInt32BE((kind | 0x10000 | (rate << 12)) >>> 0);
    frame = mp3Frame(one, 0);
  }
  const count = Math.ceil(PROBED_BYTES / frame.bytes);
  const bytes = Buffer.concat(Array.from({ length: count }, () => one.subarray(0, frame.bytes)));
  return { bytes, samples: count * frame.samples };
}

/** The size of the ID3v2, APEv2 or ID3v1 tag at this place; 0 if none is there. */
function tagBytes(data: Buffer, at: number): number {
  if (isAt(data, at, "TAG")) return 128;
  if (isAt(data, at, "APETAGEX") && at + 32 <= data.length) return 32 + data.readUInt32LE(at + 12);
  if (!isAt(data, at, "ID3") || at + 10 > data.length) return 0;
  const size = data.subarray(at + 6, at + 10);
  if (data[at + 3] === 0xff || data[at + 4] === 0xff || size.some((byte) => byte >= 0x80)) return 0;
  const hasFooter = (data.readUInt8(at + 5) & 0x10) !== 0;
  return size.reduce((sum, byte) => sum * 128 + byte, 0) + (hasFooter ? 20 : 10);
}

/** Xing, LAME and VBRI state the number of frames in the first one. */
function claimsLength(frame: Buffer): boolean {
  const start = frame.subarray(0, 48);
  return ["Xing", "Info", "VBRI"].some((name) => start.includes(name, 0, "latin1"));
}

type Mp3Frame = { kind: number; bytes: number; samples: number; sampleRate: number };

/** A whole frame of layer III (ISO 11172-3 and 13818-3). One of a free bit rate is none: few decoders read it. */
function mp3Frame(data: Buffer, at: number): Mp3Frame | undefined {
  if (at + 4 > data.length) return undefined;
  const header = data.readUInt32BE(at);
  const version = (header >>> 19) & 3;
  const fullRate = SAMPLE_RATES[(header >>> 10) & 3];
  const isLayer3 = ((header >>> 17) & 3) === 1;
  if (header >>> 21 !== 0x7ff || version === 1 || !isLayer3 || fullRate === undefined) return undefined;
  const isFirst = version === 3;
  const kbits = BIT_RATES[isFirst ? 0 : 1]?.[(header >>> 12) & 15] ?? 0;
  if (kbits === 0) return undefined;
  const sampleRate = fullRate / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = isFirst ? 1152 : 576;
  const bytes = Math.floor((samples * kbits * 125) / sampleRate) + ((header >>> 9) & 1);
  if (at + bytes > data.length) return undefined;
  return { kind: (header & SAME_IN_ALL) >>> 0, bytes, samples, sampleRate };
}

/** The most that a packet can have. */
const MAX_PACKET_MS = 120;
const PAGE_BYTES = 27;
/** The head of a stream of one or two channels. */
const HEAD_BYTES = 19;
const NO_POSITION = 0xffffffffffffffffn;

/**
 * Counts the packets of one stream whose pages are whole, in order and without a gap (RFC 3533, RFC 7845). No page
 * claims a later position than its packets come to.
 */
function readOpus(data: Buffer): MeasuredAudio | undefined {
  let lengthMs = 0;
  let packets = 0;
  let isOpen = false;
  let at = 0;
  for (let number = 0; at < data.length; number++) {
    if (!isPage(data, at, number) || data.readUInt32LE(14) !== data.readUInt32LE(at + 14)) return undefined;
    const flags = data.readUInt8(at + 5);
    if (((flags & 1) !== 0) !== isOpen || ((flags & 2) !== 0) !== (number === 0)) return undefined;
    const table = at + PAGE_BYTES;
    const sizes = data.readUInt8(at + 26);
    let from = table + sizes;
    if (number === 0 && (sizes !== 1 || !isHead(data.subarray(table, from + HEAD_BYTES)))) return undefined;
    for (let index = 0; index < sizes; index++) {
      const size = data.readUInt8(table + index);
      if (!isOpen) packets++;
      if (!isOpen && packets === 2 && !isAt(data, from, "OpusTags")) return undefined;
      if (!isOpen && packets > 2) lengthMs += packetMs(data.subarray(from, from + size));
      isOpen = size === 255;
      from += size;
    }
    const position = data.readBigUInt64LE(at + 6);
    if (position !== NO_POSITION && position > BigInt(lengthMs * 48)) return undefined;
    at = from;
  }
  return lengthMs === 0 ? undefined : { format: "ogg", type: "audio/ogg", lengthMs: Math.ceil(lengthMs), bytes: data };
}

/** Whether a whole page with this number begins here. A decoder reads on within a page of a wrong checksum. */
function isPage(data: Buffer, at: number, number: number): boolean {
  if (!isAt(data, at, "OggS\0") || at + PAGE_BYTES > data.length) return false;
  const end = at + PAGE_BYTES + data.readUInt8(at + 26);
  if (data.readUInt32LE(at + 18) !== number || end > data.length) return false;
  const size = data.subarray(at + PAGE_BYTES, end).reduce((sum, byte) => sum + byte, 0);
  return end + size <= data.length && pageChecksum(data.subarray(at, end + size)) === data.readUInt32LE(at + 22);
}

/** The checksum of a page (RFC 3533, 6): the bytes of its own field count as zero. */
export function pageChecksum(page: Uint8Array): number {
  let sum = 0;
  for (let index = 0; index < page.length; index++) {
    const byte = index >= 22 && index < 26 ? 0 : (page[index] as number);
    sum = ((sum << 8) ^ (CHECKSUMS[(sum >>> 24) ^ byte] as number)) >>> 0;
  }
  return sum;
}

const CHECKSUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 24;
  for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  return sum;
});

/** @param packet With its size before it. More than two channels are several streams in each packet. */
function isHead(packet: Buffer): boolean {
  return packet[0] === HEAD_BYTES && isAt(packet, 1, "OpusHead") && packet[HEAD_BYTES] === 0;
}

/** The length of an Opus packet by its first bytes (RFC 6716, 3.1 and 3.2); the most for a packet without them. */
function packetMs([first, second]: Uint8Array): number {
  if (first === undefined) return MAX_PACKET_MS;
  const config = first >>> 3;
  const frameMs =
    config < 12 ? ([10, 20, 40, 60][config & 3] as number) : config < 16 ? 10 << (config & 1) : 2.5 * 2 ** (config & 3);
  const code = first & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : second === undefined ? MAX_PACKET_MS : second & 63;
  return Math.min(MAX_PACKET_MS, frameMs * frames);
}
