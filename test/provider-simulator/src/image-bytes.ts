import { crc32, deflateSync } from "node:zlib";

export type ImageFormat = "png" | "jpeg" | "webp";
const SIDE = 16;
const ONE_PIXEL_WEBP = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=";
const ONE_PIXEL_JPEG =
  "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=";

/** A small real picture of one colour. `atLeast` makes it as large as a test needs. */
export function imageBytes(format: ImageFormat, colour: number, atLeast = 0): Buffer {
  if (format === "png") return png(colour, atLeast);
  const picture = Buffer.from(format === "webp" ? ONE_PIXEL_WEBP : ONE_PIXEL_JPEG, "base64");
  return Buffer.concat([picture, Buffer.alloc(Math.max(0, atLeast - picture.length), 0x5a)]);
}

function png(colour: number, atLeast: number): Buffer {
  const header = Buffer.from([0, 0, 0, SIDE, 0, 0, 0, SIDE, 8, 2, 0, 0, 0]);
  const pixel = [(colour >> 16) & 255, (colour >> 8) & 255, colour & 255];
  const line = [0, ...Array.from({ length: SIDE }, () => pixel).flat()];
  const lines = Buffer.from(Array.from({ length: SIDE }, () => line).flat());
  // A private ancillary chunk: readers skip it.
  const filler = atLeast > 0 ? [chunk("fiLl", Buffer.alloc(atLeast, 0x5a))] : [];
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    ...filler,
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
