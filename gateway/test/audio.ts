/** Files of audio for tests. `note` is in the file, where the simulator finds its markers. */
const SAMPLE_RATE = 8_000;

/** PCM of 16 bits at 8 kHz, with the note after the header. It counts as samples. */
export function wav(milliseconds: number, note = ""): Uint8Array {
  const data = Buffer.alloc((milliseconds * SAMPLE_RATE * 2) / 1000);
  data.write(note, "latin1");
  return Buffer.concat([wavHeader({ dataBytes: data.length }), data]);
}

type WavHeader = { dataBytes: number; sampleRate?: number; bits?: number; tag?: number; frameBytes?: number };

export function wavHeader({ dataBytes, sampleRate = SAMPLE_RATE, bits = 16, tag = 1, frameBytes = 2 }: WavHeader) {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(dataBytes + 36, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(bits, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(dataBytes, 40);
  return header;
}
