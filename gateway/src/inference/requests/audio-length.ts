/** Audio whose length its own frames bound, whatever its header claims. */
export type MeasuredAudio = {
  /** The file's extension and media type. */
  format: "wav" | "mp3" | "ogg";
  type: string;
  /** The length in milliseconds. No decoder makes more of the bytes. */
  lengthMs: number;
};

/**
 * Measures WAV of plain samples by its bytes, and MP3 and Ogg Opus by their frames. Bytes that are in no frame count at
 * the format's lowest bit rate. Undefined for any other file: its bytes do not bound its length.
 */
export function measureAudio(bytes: Uint8Array): MeasuredAudio | undefined {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const wav = wavMs(data);
  if (wav !== undefined) return { format: "wav", type: "audio/wav", lengthMs: wav };
  const ogg = opusMs(data);
  if (ogg !== undefined) return { format: "ogg", type: "audio/ogg", lengthMs: ogg };
  const mp3 = mpegMs(data);
  return mp3 === undefined ? undefined : { format: "mp3", type: "audio/mpeg", lengthMs: mp3 };
}

/** Makes no string: a file can have a million places to look at. */
function isAt(data: Buffer, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (data[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** PCM, floating point, A-law and mu-law: a fixed number of bytes for each sample. */
const PLAIN_SAMPLES: ReadonlySet<number> = new Set([1, 3, 6, 7]);
const EXTENSIBLE = 0xfffe;

/** All bytes after the header are samples, whatever length the header states. */
function wavMs(data: Buffer): number | undefined {
  if (!isAt(data, 0, "RIFF") || !isAt(data, 8, "WAVE")) return undefined;
  let bytesPerS: number | undefined;
  for (let at = 12; at + 8 <= data.length; at += 8 + sizeAt(data, at)) {
    if (isAt(data, at, "data")) {
      return bytesPerS === undefined ? undefined : Math.ceil(((data.length - at - 8) * 1000) / bytesPerS);
    }
    if (!isAt(data, at, "fmt ")) continue;
    // Which of two formats a decoder uses is not known.
    if (bytesPerS !== undefined) return undefined;
    bytesPerS = formatRate(data.subarray(at + 8, at + 8 + data.readUInt32LE(at + 4)));
    if (bytesPerS === undefined) return undefined;
  }
  return undefined;
}

/** A chunk is padded to an even length. */
function sizeAt(data: Buffer, at: number): number {
  const size = data.readUInt32LE(at + 4);
  return size + (size % 2);
}

/** Bytes per second; undefined unless the samples are plain and the fields agree. */
function formatRate(format: Buffer): number | undefined {
  if (format.length < 16) return undefined;
  const tag = format.readUInt16LE(0);
  const kind = tag === EXTENSIBLE && format.length >= 26 ? format.readUInt16LE(24) : tag;
  const [channels, sampleRate] = [format.readUInt16LE(2), format.readUInt32LE(4)];
  const [frameBytes, bits] = [format.readUInt16LE(12), format.readUInt16LE(14)];
  if (!PLAIN_SAMPLES.has(kind) || bits % 8 !== 0 || frameBytes !== (channels * bits) / 8) return undefined;
  return frameBytes * sampleRate || undefined;
}

/** Kilobits per second by index: MPEG 1 layers I, II, III, then MPEG 2 layers I, and II and III. */
const BIT_RATES: readonly (readonly number[])[] = [
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const SAMPLE_RATES: readonly number[] = [44_100, 48_000, 32_000];
/** A byte at 8 kbit/s, the lowest bit rate. */
const MPEG_MS_PER_BYTE = 1;

function mpegMs(data: Buffer): number | undefined {
  let at = afterTags(data);
  let frame = mpegFrame(data, at);
  if (frame === undefined) return undefined;
  let lengthMs = 0;
  while (frame !== undefined) {
    lengthMs += frame.lengthMs;
    at += frame.bytes;
    frame = mpegFrame(data, at);
  }
  const end = isAt(data, data.length - 128, "TAG") ? data.length - 128 : data.length;
  return Math.ceil(lengthMs + Math.max(0, end - at) * MPEG_MS_PER_BYTE);
}

/** The end of the ID3v2 tags at the beginning. */
function afterTags(data: Buffer): number {
  let at = 0;
  while (isAt(data, at, "ID3") && at + 10 <= data.length) {
    let size = 0;
    for (let index = at + 6; index < at + 10; index++) size = size * 128 + (data.readUInt8(index) & 0x7f);
    const hasFooter = (data.readUInt8(at + 5) & 0x10) !== 0;
    at += size + (hasFooter ? 20 : 10);
  }
  return at;
}

/** A frame header of ISO 11172-3 or 13818-3. Frames of a free bit rate are none: few decoders read them. */
function mpegFrame(data: Buffer, at: number): { bytes: number; lengthMs: number } | undefined {
  if (at + 4 > data.length) return undefined;
  const header = data.readUInt32BE(at);
  const version = (header >>> 19) & 3;
  const layer = 4 - ((header >>> 17) & 3);
  const sampleRate = SAMPLE_RATES[(header >>> 10) & 3];
  if (header >>> 21 !== 0x7ff || version === 1 || layer === 4 || sampleRate === undefined) return undefined;
  const isFirst = version === 3;
  const kbits = BIT_RATES[isFirst ? layer - 1 : layer === 1 ? 3 : 4]?.[(header >>> 12) & 15];
  if (kbits === undefined || kbits === 0) return undefined;
  const rate = sampleRate / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1152;
  const unit = layer === 1 ? 4 : 1;
  const padding = (header >>> 9) & 1;
  const bytes = (Math.floor((samples * kbits * 125) / rate / unit) + padding) * unit;
  return { bytes, lengthMs: (samples * 1000) / rate };
}

/** The most that a packet can have, and so a byte of the shortest packets: two bytes, and one of the page's table. */
const MAX_PACKET_MS = 120;
const OPUS_MS_PER_BYTE = MAX_PACKET_MS / 3;
const PAGE_BYTES = 27;

/** Counts the packets of all pages (RFC 3533, RFC 7845). */
function opusMs(data: Buffer): number | undefined {
  let lengthMs = 0;
  let headers = 0;
  let isOpen = false;
  let at = 0;
  for (; isAt(data, at, "OggS") && at + PAGE_BYTES <= data.length; ) {
    const flags = data.readUInt8(at + 5);
    const table = at + PAGE_BYTES;
    const sizes = data.readUInt8(at + 26);
    let from = table + sizes;
    const isFirst = (flags & 2) !== 0;
    // A decoder may choose a stream of another codec.
    if (isFirst && !isAt(data, from, "OpusHead")) return undefined;
    if (isFirst) headers = 0;
    let isStart: boolean = !(isOpen && (flags & 1) !== 0);
    for (let index = 0; index < sizes; index++) {
      const size = data[table + index] ?? 0;
      if (isStart && headers >= 2) lengthMs += packetMs(data, from);
      else if (isStart) headers++;
      isStart = size < 255;
      from += size;
    }
    isOpen = !isStart;
    at = from;
  }
  return at === 0 ? undefined : Math.ceil(lengthMs + Math.max(0, data.length - at) * OPUS_MS_PER_BYTE);
}

/** The length of an Opus packet by its first bytes (RFC 6716, 3.1 and 3.2). */
function packetMs(data: Buffer, at: number): number {
  if (at >= data.length) return 0;
  const first = data.readUInt8(at);
  const config = first >>> 3;
  const frameMs =
    config < 12 ? ([10, 20, 40, 60][config & 3] as number) : config < 16 ? 10 << (config & 1) : 2.5 * 2 ** (config & 3);
  const code = first & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : at + 1 < data.length ? data.readUInt8(at + 1) & 63 : 0;
  return Math.min(MAX_PACKET_MS, frameMs * frames);
}
