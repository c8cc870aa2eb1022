/** Files of audio for tests. `note` is in the file, where the simulator finds its markers. */
const SAMPLE_RATE = 8_000;

/** PCM of 16 bits at 8 kHz, with the note after the header. It counts as samples. */
export function wav(milliseconds: number, note = ""): Uint8Array {
  const data = Buffer.alloc((milliseconds * SAMPLE_RATE * 2) / 1000);
  data.write(note, "latin1");
  return Buffer.concat([wavHeader({ dataBytes: data.length }), data]);
}

type WavHeader = Partial<Record<"dataBytes" | "sampleRate" | "bits" | "tag" | "frameBytes" | "channels", number>>;

/** PCM of 16 bits and one channel, unless told otherwise. */
export function wavHeader(header: WavHeader = {}) {
  const { dataBytes = 0, sampleRate = SAMPLE_RATE, channels = 1, bits = 16, tag = 1, frameBytes = 2 } = header;
  const bytes = Buffer.alloc(44);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(dataBytes + 36, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(tag, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(sampleRate, 24);
  bytes.writeUInt32LE(sampleRate * frameBytes, 28);
  bytes.writeUInt16LE(frameBytes, 32);
  bytes.writeUInt16LE(bits, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(dataBytes, 40);
  return bytes;
}
