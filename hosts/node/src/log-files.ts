import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";

/**
 * The ledger's log: commits that are durable and not in the tables yet. A commit is one record, written at once. Two
 * files take turns. One is written from its start again when all its records are in the tables, because a disk is
 * faster where a file does not grow.
 *
 * A file begins with a head: `MARK`, the ledger, the salt of this use of the file, its first record, and a checksum.
 * Records follow: `RECORD`, the length, a checksum under the salt, the commit's rows. What an earlier use has left
 * behind the last record has another salt, so its checksums are wrong.
 */
export type LogFiles = {
  /**
   * Writes a record, and resolves with its number once it is durable. One at a time. After an error nothing is in the
   * log, or the same record may be there: another one may be appended in its place.
   */
  append(rows: Uint8Array): Promise<number>;
  /** All records that are not folded, in their order. The last one has the number `last`. */
  unfolded(): Uint8Array[];
  /** The records up to this number are in the tables, durably. */
  folded(number: number): void;
  /** The number of the last record. */
  readonly last: number;
  /** Bytes that are not folded. */
  readonly unfoldedBytes: number;
  close(): void;
};

export type Synchronous = "FULL" | "NORMAL";

/** A ledger's own number, and the last record that is in its log, or in its tables. */
export type LogPlace = { ledger: number; last: number };

/** The tables. While `isInUse`, the log's files are there, and may have records that the tables lack. */
type FoldedLog = LogPlace & { isInUse?: boolean };

const MARK = Buffer.from("ledger log, v. 1");
const HEAD_BYTES = MARK.length + 20;
/** Where the head has what, after the mark. */
const [LEDGER_AT, SALT_AT, FIRST_AT] = [16, 22, 26];
const RECORD = 0x636f6d6d;
const RECORD_BYTES = 12;
/** A file with more than this is left for the other one, as soon as that is free. */
const FULL_BYTES = 16 * 2 ** 20;

/**
 * Begins a log. What an earlier process left in the files is in the tables, or is given up, and is made void: else it
 * could be taken for a part of this log, or for a damaged one where this log is written over it.
 *
 * @param synchronous With `FULL` a record survives a power cut, with `NORMAL` only the end of the process.
 */
export function openLogFiles(
  database: string,
  { ledger, last }: LogPlace,
  synchronous: Synchronous,
  fullBytes = FULL_BYTES,
): LogFiles {
  const flags = fs.constants.O_RDWR | fs.constants.O_CREAT | (synchronous === "FULL" ? fs.constants.O_DSYNC : 0);
  const files = logNames(database).map((name) => fs.openSync(name, flags)) as [number, number];
  syncToDisk(dirname(database));
  let current: 0 | 1 = 1;
  let head = makeHead(ledger, last + 1);
  let end = HEAD_BYTES;
  fs.writeSync(files[1], head, 0, HEAD_BYTES, 0);
  fs.writeSync(files[0], Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  const unfolded: { file: 0 | 1; bytes: Buffer }[] = [];
  let unfoldedBytes = 0;

  async function append(rows: Uint8Array): Promise<number> {
    const other = current === 0 ? 1 : 0;
    // The records of the other file are the older ones.
    if (end >= fullBytes && unfolded[0]?.file !== other) await beginFile(other);
    const bytes = Buffer.concat([makeRecordHead(rows, saltOf(head)), rows]);
    await writeAll(files[current], bytes, end);
    end += bytes.length;
    last += 1;
    unfolded.push({ file: current, bytes });
    unfoldedBytes += bytes.length;
    return last;
  }

  async function beginFile(file: 0 | 1): Promise<void> {
    const begun = makeHead(ledger, last + 1);
    await writeAll(files[file], begun, 0);
    current = file;
    head = begun;
    end = HEAD_BYTES;
  }

  return {
    append,
    unfolded: () => unfolded.map(({ bytes }) => bytes.subarray(RECORD_BYTES)),
    folded(number) {
      const left = last - number;
      for (const { bytes } of unfolded.splice(0, unfolded.length - left)) unfoldedBytes -= bytes.length;
    },
    get last() {
      return last;
    },
    get unfoldedBytes() {
      return unfoldedBytes;
    },
    close() {
      for (const file of files) fs.closeSync(file);
    },
  };
}

/**
 * The records that an earlier process left after this number, in their order. A last record that is not whole was not
 * answered, and is left out.
 *
 * @param synchronous As the log was written. With `NORMAL` a power cut may have lost any record, and the first one that is
 *   not whole ends the log.
 * @throws If a record is damaged or of another version, or if the files are missing or older than the tables. Nothing
 *   is skipped.
 */
export function readLog(database: string, folded: FoldedLog, synchronous: Synchronous): Uint8Array[] {
  const uses = logNames(database).flatMap((file) => readFile(file, folded.ledger, synchronous) ?? []);
  uses.sort((one, other) => one.first - other.first);
  if (synchronous === "FULL") {
    checkBothThere(database, uses);
    checkNewest(database, uses.at(-1), folded);
  }
  const found: Uint8Array[] = [];
  let next = folded.last + 1;
  // What is before the last use that begins with a folded record is folded.
  const left = uses.slice(
    Math.max(
      0,
      uses.findLastIndex(({ first }) => first <= next),
    ),
  );
  for (const [index, { file, first, records, end, isFollowed }] of left.entries()) {
    const isNext = first <= next;
    if (!isNext && found.length === 0 && synchronous === "FULL") throw notNext(file, first, next - 1);
    if (isNext) {
      // What the use before has of these failed there, and was appended again here.
      found.splice(Math.max(0, first - folded.last - 1));
      found.push(...records.slice(Math.max(0, folded.last + 1 - first)));
      next = folded.last + 1 + found.length;
    }
    // Whatever comes later was written when this was durable.
    const isMissing = isFollowed || (left[index + 1]?.first ?? next) > next;
    if (isNext && !isMissing) continue;
    if (synchronous === "NORMAL") break;
    throw damaged(file, isNext ? end : 0, next);
  }
  return found;
}

/** Both files are made before either is written, and the second one is written first. */
function checkBothThere(database: string, uses: readonly Use[]): void {
  const [first = "", second = ""] = logNames(database);
  const ofSecond = uses.find(({ file }) => file === second);
  const firstBytes = fs.statSync(first, { throwIfNoEntry: false })?.size;
  if (ofSecond === undefined && (firstBytes ?? 0) > 0) throw missing(second);
  // Nothing is appended before the first one is written too.
  if (ofSecond !== undefined && !firstBytes && ofSecond.records.length > 0) throw missing(first);
}

/** A record is in the log before it is in the tables, so the log ends where the tables do, or later. */
function checkNewest(database: string, newest: Use | undefined, { last, isInUse }: FoldedLog): void {
  if (newest === undefined) {
    if (isInUse === true) throw bothMissing(database);
    return;
  }
  const end = newest.first + newest.records.length - 1;
  if (end < last && !newest.isFollowed) throw older(newest.file, end, last);
}

/** What the last use of a file has written. */
type Use = {
  file: string;
  first: number;
  records: Uint8Array[];
  /** Where they end. */
  end: number;
  /** Whether another record of this use follows later: the one at the end is damaged. */
  isFollowed: boolean;
};

function readFile(file: string, ledger: number, synchronous: Synchronous): Use | undefined {
  if (!fs.existsSync(file)) return undefined;
  const bytes = fs.readFileSync(file);
  // The first record was being written.
  if (bytes.length < HEAD_BYTES || bytes.subarray(0, HEAD_BYTES).every((byte) => byte === 0)) return undefined;
  if (!bytes.subarray(0, MARK.length).equals(MARK)) throw new Error(`${file} is no log of this version. ${WHAT_TO_DO}`);
  const checked = HEAD_BYTES - 4;
  if (crc32(bytes.subarray(0, checked)) !== bytes.readUInt32LE(checked)) {
    if (synchronous === "NORMAL") return undefined;
    throw damaged(file, 0, undefined);
  }
  if (bytes.readUIntLE(LEDGER_AT, 6) !== ledger) {
    throw new Error(`${file} is the log of another database. Put that one back, or move this file away.`);
  }
  const salt = saltOf(bytes);
  const first = bytes.readUIntLE(FIRST_AT, 6);
  const { records, end } = recordsOf(bytes, HEAD_BYTES, salt);
  return { file, first, records, end, isFollowed: hasRecord(bytes, end + 1, salt) };
}

function recordsOf(bytes: Buffer, from: number, salt: number): { records: Uint8Array[]; end: number } {
  const records: Uint8Array[] = [];
  let end = from;
  for (let record = recordAt(bytes, end, salt); record !== undefined; record = recordAt(bytes, end, salt)) {
    records.push(record);
    end += RECORD_BYTES + record.length;
  }
  return { records, end };
}

function recordAt(bytes: Buffer, at: number, salt: number): Uint8Array | undefined {
  if (at + RECORD_BYTES > bytes.length || bytes.readUInt32LE(at) !== RECORD) return undefined;
  const end = at + RECORD_BYTES + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return undefined;
  const rows = bytes.subarray(at + RECORD_BYTES, end);
  return bytes.readUInt32LE(at + 8) === crc32(rows, salt) ? rows : undefined;
}

function hasRecord(bytes: Buffer, from: number, salt: number): boolean {
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(RECORD);
  for (let at = bytes.indexOf(mark, from); at !== -1; at = bytes.indexOf(mark, at + 1)) {
    if (recordAt(bytes, at, salt) !== undefined) return true;
  }
  return false;
}

function makeHead(ledger: number, first: number): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES);
  MARK.copy(bytes);
  bytes.writeUIntLE(ledger, LEDGER_AT, 6);
  randomBytes(4).copy(bytes, SALT_AT);
  bytes.writeUIntLE(first, FIRST_AT, 6);
  const checked = HEAD_BYTES - 4;
  bytes.writeUInt32LE(crc32(bytes.subarray(0, checked)), checked);
  return bytes;
}

function saltOf(head: Buffer): number {
  return head.readUInt32LE(SALT_AT);
}

function makeRecordHead(rows: Uint8Array, salt: number): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES);
  bytes.writeUInt32LE(RECORD);
  bytes.writeUInt32LE(rows.length, 4);
  bytes.writeUInt32LE(crc32(rows, salt), 8);
  return bytes;
}

async function writeAll(descriptor: number, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += await new Promise<number>((resolve, reject) => {
      fs.write(descriptor, bytes, written, bytes.length - written, at + written, (error, count) =>
        error === null ? resolve(count) : reject(error),
      );
    });
  }
}

/** Writes a file or a folder to the disk. A new file survives a power cut once its folder is there too. */
export function syncToDisk(path: string): void {
  const descriptor = fs.openSync(path, "r");
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function logNames(database: string): string[] {
  return [`${database}-log1`, `${database}-log2`];
}

const WHAT_TO_DO = "Start the version that wrote it and stop it, then start this one.";

function damaged(file: string, at: number, record: number | undefined): Error {
  const what = record === undefined ? "Its head" : `Record ${record}`;
  return new Error(
    `The ledger's log ${file} is damaged at byte ${at}. ${what} cannot be read, and nothing was changed. ` +
      "Restore the file. If it is lost, the books are lost from there on: see docs/operating.md.",
  );
}

function missing(file: string): Error {
  return new Error(
    `The ledger's log ${file} is missing or empty, and the other one is not. Restore the file. ${ELSE_OLDER}`,
  );
}

function bothMissing(database: string): Error {
  return new Error(
    `The ledger's log files ${logNames(database).join(" and ")} are missing or empty, and the gateway was not stopped in ` +
      `order: commits may be in them alone. Restore both files. ${ELSE_OLDER}`,
  );
}

function older(file: string, end: number, last: number): Error {
  return new Error(
    `The ledger's log ${file} ends with record ${end}, and the database ends with record ${last}. ` +
      `The log files are older copies. Restore the newest ones. ${ELSE_OLDER}`,
  );
}

function notNext(file: string, first: number, last: number): Error {
  return new Error(
    `The ledger's log ${file} begins with record ${first}, and the database ends with record ${last}. ` +
      `The other log file is missing, or the database is an older copy. Restore the file. ${ELSE_OLDER}`,
  );
}

const ELSE_OLDER =
  "If it is lost, start once with DATABASE_SYNCHRONOUS=NORMAL to go on with the older books: see docs/operating.md.";
