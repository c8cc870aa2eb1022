import { DatabaseSync } from "node:sqlite";
import { type Hex, keccak256 } from "viem";
import { decodePacket, type Packet } from "./packet.ts";

/** How far a worker has read a chain. */
export type Cursor = { block: number; hash: Hex };

/** A message that a worker has seen and not brought to an end. */
export type Job = {
  id: Hex;
  packet: Packet;
  options: Hex;
  seenAt: number;
  attempts: number;
  /** The destination's block at which its end was seen first; null while it is not seen. */
  endedAtBlock: number | null;
};

/** What one worker knows, in a file that it shares with the others. */
export type Store = {
  cursor(eid: number): Cursor | undefined;
  /** The highest nonce seen on a path; 0 if none was. */
  lastNonce(path: string): bigint;
  /** In one commit: the messages of a range, each once however often it is told, and how far it was read. */
  advance(eid: number, cursor: Cursor, messages: readonly { packet: Packet; options: Hex; seenAt: number }[]): void;
  rewind(eid: number, cursor: Cursor): void;
  /** Those that are due, the oldest first: what comes before on a path must be committed for what follows. */
  due(at: number): Job[];
  /** Puts a job off. `endedAtBlock` as in {@link Job}. */
  later(id: Hex, next: { dueAt: number; attempts: number; endedAtBlock: number | null }): void;
  done(id: Hex): void;
};

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS cursor (
    worker TEXT, eid INTEGER, block INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (worker, eid)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS path (
    worker TEXT, path TEXT, nonce TEXT NOT NULL, PRIMARY KEY (worker, path)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS job (
    worker TEXT, id TEXT, packet TEXT NOT NULL, options TEXT NOT NULL, seen_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, due_at INTEGER NOT NULL DEFAULT 0, ended_at_block INTEGER,
    is_done INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (worker, id)
  );
  CREATE INDEX IF NOT EXISTS open_job ON job (worker, due_at) WHERE is_done = 0;
`;

export type Database = { store(worker: string): Store; close(): void };

export function openDatabase(file: string): Database {
  const database = new DatabaseSync(file);
  database.exec(SCHEMA);
  return { store: (worker) => createStore(database, worker), close: () => database.close() };
}

function createStore(database: DatabaseSync, worker: string): Store {
  const cursor = database.prepare("SELECT block, hash FROM cursor WHERE worker = ? AND eid = ?");
  const setCursor = database.prepare("INSERT OR REPLACE INTO cursor VALUES (?, ?, ?, ?)");
  const nonce = database.prepare("SELECT nonce FROM path WHERE worker = ? AND path = ?");
  const setNonce = database.prepare("INSERT OR REPLACE INTO path VALUES (?, ?, ?)");
  const addJob = database.prepare(
    "INSERT OR IGNORE INTO job (worker, id, packet, options, seen_at) VALUES (?, ?, ?, ?, ?)",
  );
  const dueJobs = database.prepare(
    "SELECT * FROM job WHERE worker = ? AND is_done = 0 AND due_at <= ? ORDER BY due_at, rowid LIMIT 100",
  );
  const putOff = database.prepare(
    "UPDATE job SET due_at = ?, attempts = ?, ended_at_block = ? WHERE worker = ? AND id = ?",
  );
  const end = database.prepare("UPDATE job SET is_done = 1 WHERE worker = ? AND id = ?");
  const lastNonce = (path: string): bigint =>
    BigInt((nonce.get(worker, path) as { nonce: string } | undefined)?.nonce ?? 0);
  return {
    cursor: (eid) => cursor.get(worker, eid) as Cursor | undefined,
    lastNonce,
    advance(eid, { block, hash }, messages) {
      database.exec("BEGIN IMMEDIATE");
      try {
        for (const { packet, options, seenAt } of messages) {
          addJob.run(worker, keccak256(packet.encoded), packet.encoded, options, seenAt);
          if (packet.nonce > lastNonce(packet.path)) setNonce.run(worker, packet.path, String(packet.nonce));
        }
        setCursor.run(worker, eid, block, hash);
        database.exec("COMMIT");
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    rewind: (eid, { block, hash }) => void setCursor.run(worker, eid, block, hash),
    due: (at) => (dueJobs.all(worker, at) as JobRow[]).map(jobOf),
    later: (id, { dueAt, attempts, endedAtBlock }) => void putOff.run(dueAt, attempts, endedAtBlock, worker, id),
    done: (id) => void end.run(worker, id),
  };
}

type JobRow = {
  id: Hex;
  packet: Hex;
  options: Hex;
  seen_at: number;
  attempts: number;
  ended_at_block: number | null;
};

function jobOf(row: JobRow): Job {
  const { id, options, attempts } = row;
  const packet = decodePacket(row.packet);
  return { id, packet, options, seenAt: row.seen_at, attempts, endedAtBlock: row.ended_at_block };
}
