import fs from "node:fs";

/** Loaded before a gateway: a write of these bytes to any file fails, as on a broken disk. */
const { REFUSED_WRITE = "" } = process.env;
const write = fs.write as (
  fd: number,
  bytes: Buffer,
  ...rest: [number, number, number, (error: Error) => void]
) => void;

fs.write = ((fd: number, bytes: Buffer, ...rest: [number, number, number, (error: Error) => void]) => {
  if (!bytes.includes(REFUSED_WRITE)) write(fd, bytes, ...rest);
  else setImmediate(rest[3], Object.assign(new Error("EIO: i/o error, write"), { code: "EIO" }));
}) as typeof fs.write;
