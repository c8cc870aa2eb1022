import { type DollarWindow, dollarWindows } from "@inference/protocol/window";

const WINDOWS = `one of ${dollarWindows.join(" ")}` as `one of ${DollarWindow}`;

/**
 * The rows of a partition, which are the authority on its state, and the schema that both hosts store them with. Every
 * row has an `id`, unique within its table and partition. A value is a string, a safe integer or null. Amounts are in
 * nano-dollars, times in ms since the epoch.
 *
 * `clustered` is the order of a table's rows on disk: `time` for rows with a time-ordered id (a commit then touches the
 * last pages alone, however many accounts there are), `partition` for the others.
 */
export const tableSchemas = {
  /** Ids: `balance`, `key:<keyId>`, `ceiling`, `capacity:<dayStart>`. Null: no limit. */
  budget: { clustered: "partition", columns: { window: WINDOWS, limitNanoUsd: "amount?" } },
  counter: {
    clustered: "partition",
    columns: {
      /** Ids: `<budget>@<windowStart>`. The id `carry@<dayStart>` has what earlier days' statements take of a day. */
      settledNanoUsd: "amount",
      /** At a shared limit: the unused part of its allowances. Other budgets' holds are in `receipt`. */
      heldNanoUsd: "amount",
      /** Only a key's minute has these: the requests sent to the provider, and their tokens. */
      requests: "integer?",
      tokens: "integer?",
      /** Only a key's dollars have this: the limit whose end a webhook reported. Null: no report in this window. */
      toldLimitNanoUsd: "amount?",
    },
  },
  /** The record of a request, with the request's id. An open or orphaned one is a hold. */
  receipt: {
    clustered: "time",
    columns: {
      state: "one of open orphaned settled released",
      admittedAt: "integer",
      leaseUntil: "integer",
      resolvedAt: "integer?",
      heldNanoUsd: "amount",
      chargeNanoUsd: "amount",
      /** The provider's bill for this request, less the charge. */
      lossNanoUsd: "amount",
      /** The last checkpoint: the charge for what was delivered by then, and the provider's id of the answer. */
      deliveredNanoUsd: "amount",
      upstreamId: "text?",
      /** Null: a session pays. */
      keyId: "text?",
      /**
       * The agent whose offer serves the request, its token in lower case, and the offer's hash. Null: the protocol.
       */
      server: "text?",
      offer: "text?",
      /** The position of its use. Null: it cost nothing, or a session paid. */
      endsAtNanoUsd: "amount?",
      /** The command that created it, to distinguish a repeated command from a conflicting one. */
      fingerprint: "text",
      /**
       * JSON. A hold's settlement data (route, model, prices), or a resolved request's route, model, usage, prices and
       * basis of the charge. Empty: the request was never forwarded.
       */
      detail: "text",
      /** The most tokens that it can use. Null: unknown. */
      heldTokens: "integer?",
    },
  },
  key: {
    clustered: "partition",
    columns: {
      name: "text",
      /** First and last characters of the key, to recognise it. */
      label: "text",
      digest: "text",
      window: WINDOWS,
      limitNanoUsd: "amount?",
      disabled: "integer",
      revokedAt: "integer?",
      expiresAt: "integer?",
      createdAt: "integer",
      /** The nonce of the message that created its secret, to recognise a repeated message. */
      nonce: "text",
      /** How long a key without any credit in its account waits for the first one. Null: it does not wait. */
      unpaidUntil: "integer?",
      /** JSON: `KeyTerms`. Null: no terms besides the limit above. */
      terms: "text?",
    },
  },
  /** The key of a secret's digest. */
  secret: { clustered: "partition", columns: { keyId: "text" } },
  /** The id is `account`. */
  account: {
    clustered: "partition",
    columns: {
      keys: "integer",
      createdAt: "integer",
      /** JSON: `Webhook[]`. Null: none, and nothing is noticed. */
      webhooks: "text?",
      /** JSON: `Notice[]`, the oldest first. */
      notices: "text?",
      /** When a notice is to be sent, or to be forgotten. */
      dueAt: "integer?",
    },
  },
  nonce: {
    clustered: "partition",
    columns: {
      expiresAt: "integer",
      /** The session's digest, or the id of the change of a key, that used the nonce. Null: a key's secret did. */
      digest: "text?",
    },
  },
  /** The claimed name of a request, under which it is served once. */
  claim: { clustered: "partition", columns: { requestId: "text", fingerprint: "text", expiresAt: "integer" } },
  /** The id is the token's digest. */
  session: {
    clustered: "partition",
    columns: {
      address: "text",
      agentToken: "text?",
      createdAt: "integer",
      expiresAt: "integer",
      revokedAt: "integer?",
    },
  },
  /**
   * The sum of the receipts of `<utc-day> <keyId> <model>`, without a key for a session's requests, or of those with a
   * tag, which follows after a line break: see `totals.ts`.
   */
  total: {
    clustered: "partition",
    columns: {
      requests: "integer",
      chargeNanoUsd: "amount",
      promptTokens: "integer",
      completionTokens: "integer",
    },
  },
  /** A delivery that is not acknowledged. The id is `<cause>><target>`: the same delivery has the same id. */
  outbox: { clustered: "partition", columns: { target: "text", command: "text" } },
  /** The last offer of an agent, with the id `offer`. It stays for ever, because of its nonce. */
  offer: {
    clustered: "partition",
    columns: {
      hash: "text",
      /** Days since 1970; 0: every day. */
      day: "integer",
      /** 0: it withdraws the offer before. */
      shareBps: "integer",
      nonce: "integer",
      since: "integer",
      /** The computer that signed it, and the agent's owner then: the offer ends with either. */
      computer: "text",
      owner: "text",
      endedAt: "integer?",
    },
  },
  /**
   * The amount that an account may use of a shared limit on one day: `<dayStart> <limit's partition>` in the account,
   * `<dayStart> <account's partition>` at the limit, which uses the first three columns alone. See `allowance.ts`.
   */
  allowance: {
    clustered: "partition",
    columns: {
      usedNanoUsd: "amount",
      /** All that may be used on the day, `usedNanoUsd` included. */
      allowedNanoUsd: "amount",
      /** The number of the last ask: a time, so that no ask has the number of one before a restore. */
      askedAt: "integer",
      /** 1 while an ask is under way. */
      isAsking: "integer",
      /**
       * 1: it is raised by more than a request needs, and lowered when it is due. 0: it is lowered with each request.
       */
      inPieces: "integer",
      /** In pieces: the amount used since the last raise, and the needs of requests that came during an ask. */
      pieceNanoUsd: "amount",
      /**
       * When the account lowers it. Null: the limit knows the used amount and allows the used and held amounts alone.
       */
      dueAt: "integer?",
    },
  },
  /** The id is `emptied`: a shared limit that was emptied, and gives nothing until its accounts have told it again. */
  emptied: { clustered: "partition", columns: { at: "integer" } },
  /**
   * A settled prepaid request with a charge. The id is its `endsAt`, the account's total after it, with leading zeros.
   */
  use: {
    clustered: "partition",
    columns: {
      receipt: "text",
      costNanoUsd: "amount",
      admittedAt: "integer",
      /** The agent that served it, and the hash of its offer. Null: the protocol. */
      server: "text?",
      offer: "text?",
      /** The id of the price snapshot. */
      snapshot: "text",
    },
  },
  /** The account's debt and debits, with the id `bill`: see `bill.ts`. */
  bill: {
    clustered: "partition",
    columns: {
      /** The final debits at which the open statement begins. */
      baseNanoUsd: "amount",
      /** The open statement: where it ends, the root of its uses and the parts of agents (JSON) once they are known. */
      openAfterNanoUsd: "amount?",
      openRoot: "text?",
      openParts: "text?",
      /** When its oldest use was admitted, and when it was sealed. */
      openOldestAt: "integer?",
      sealedAt: "integer?",
      /** When the oldest use after the open statement was admitted. */
      oldestAt: "integer?",
      /** When there is something to seal, to hash or to tell. */
      dueAt: "integer?",
      /** At this position it is due at once. */
      dueFromNanoUsd: "amount",
      /** The last hearing of the chain: its reading, the final debits, the root of the last one. */
      replay: "integer",
      debitedNanoUsd: "amount",
      lastRoot: "text?",
      /** The host's epoch in which the account last heard on its own question. */
      heardIn: "integer",
      /** The sum of the final debits that were not by statements of this account. */
      takenOverNanoUsd: "amount",
      /** The highest total of activations that was ever heard. Null: nothing was heard since the column was added. */
      mostActivatedNanoUsd: "amount?",
    },
  },
  /** How far a chain was read, with the id `cursor`. In the ceiling's partition: the block that lowered the ceiling. */
  cursor: {
    clustered: "partition",
    columns: {
      block: "integer",
      blockHash: "text",
      lastActivationId: "integer",
      /** The totals of all activations, in token units, and of all debits, in nano-dollars: they may exceed 2^53. */
      totalActivated: "text",
      totalDebitedNanoUsd: "text",
      /** The reading of the chain from its first block: a time, so that a later one is larger. */
      replay: "integer",
      /** No account is told anything before this block was read. */
      readyFrom: "integer",
    },
  },
  /** An account's activations and debits up to the cursor. The id is its address. */
  payer: {
    clustered: "partition",
    columns: {
      activatedNanoUsd: "amount",
      /** Includes activations that are not final, if the operator lets them count. */
      aheadNanoUsd: "amount",
      debitedNanoUsd: "amount",
      lastRoot: "text?",
    },
  },
  /** A statement that an account told, until it is final. The id is the account's address. */
  told: {
    clustered: "partition",
    columns: {
      beforeNanoUsd: "amount",
      afterNanoUsd: "amount",
      root: "text",
      /** JSON: `ServedPart[]`. */
      parts: "text",
      oldestAt: "integer",
      toldAt: "integer",
    },
  },
  /** A final record. The id is `<address>:<before>`, with leading zeros. */
  record: {
    clustered: "partition",
    columns: {
      amountNanoUsd: "amount",
      /** The roots of the account's statement and of the chunk. */
      root: "text",
      chunk: "text",
      /** JSON: `ServedPart[]`, as paid. */
      parts: "text",
      /** 1: it pays a statement that its account told. */
      isOwn: "integer",
      /** Its proof to the chunk's root: the nodes in hexadecimal, one after another. */
      proof: "text",
      /** The start of the UTC day whose ceiling paid. */
      paidAt: "integer",
    },
  },
  /** A final chunk. The id is its root. */
  chunk: {
    clustered: "partition",
    columns: {
      block: "integer",
      transactionHash: "text",
      /** The UTC day whose ceiling paid. */
      day: "text",
      amountNanoUsd: "amount",
      /** The debits of all chunks up to this one, on its day and ever. */
      paidAfterNanoUsd: "amount",
      totalDebitedAfterNanoUsd: "text",
    },
  },
  /** A transaction that may have been sent. The id is its nonce, with leading zeros. */
  transaction: {
    clustered: "partition",
    columns: {
      hash: "text",
      /** The signed bytes, in hexadecimal. */
      raw: "text",
      /** The most that it pays for a unit of gas, in wei: a decimal string. */
      maxFeePerGasWei: "text",
      /** The UTC day whose ceiling it is paid from. */
      day: "text",
      /** JSON: `RecordName[]`. */
      records: "text",
      signedAt: "integer",
    },
  },
  /** A day's reconciliation. The id is the UTC day. */
  reconciliation: {
    clustered: "partition",
    columns: {
      at: "integer",
      /** Null while uses of the day are not final. */
      closedAt: "integer?",
      unexplainedNanoUsd: "amount",
      /** JSON: a `Reconciliation`. */
      detail: "text",
    },
  },
} as const satisfies Record<string, TableSchema>;

export type ColumnKind = "text" | "amount" | "integer" | `one of ${string}`;
export type Column = ColumnKind | `${ColumnKind}?`;
type TableSchema = { clustered: "time" | "partition"; columns: Readonly<Record<string, Column>> };

type Schemas = typeof tableSchemas;
export type TableName = keyof Schemas;
export type Tables = { [T in TableName]: { id: string } & RowOf<Schemas[T]["columns"]> };
type RowOf<C> = { -readonly [P in keyof C]: ValueOf<C[P]> };
type ValueOf<K> = K extends `${infer Base}?`
  ? ValueOf<Base> | null
  : K extends "text"
    ? string
    : K extends `one of ${infer Words}`
      ? WordOf<Words>
      : number;
type WordOf<Words extends string> = Words extends `${infer First} ${infer Rest}` ? First | WordOf<Rest> : Words;

export type AccountRow = Tables["account"];
export type CounterRow = Tables["counter"];
export type ReceiptRow = Tables["receipt"];
export type KeyRow = Tables["key"];
export type SessionRow = Tables["session"];
export type TotalRow = Tables["total"];
export type OutboxRow = Tables["outbox"];
export type OfferRow = Tables["offer"];
export type AllowanceRow = Tables["allowance"];
export type UseRow = Tables["use"];
export type BillRow = Tables["bill"];
export type CursorRow = Tables["cursor"];
export type PayerRow = Tables["payer"];
export type ToldRow = Tables["told"];
export type RecordRow = Tables["record"];
export type ChunkRow = Tables["chunk"];
export type TransactionRow = Tables["transaction"];
export type ReconciliationRow = Tables["reconciliation"];
export type Row = Tables[TableName];

/** The state of one partition, as a command sees it. */
export type Rows = {
  get<T extends TableName>(table: T, id: string): Tables[T] | undefined;
};

/** The rows of a partition that can also be listed, by id and by state. */
export type ReadRows = Rows & {
  list<T extends TableName>(table: T, range: { after?: string; limit: number }): Tables[T][];
  newest<T extends TableName>(table: T, range: { before: string; limit: number }): Tables[T][];
  /** The keys that are not revoked, at most `MAX_KEYS_PER_ACCOUNT`, in the order of their ids. */
  liveKeys(): KeyRow[];
  /** The open and orphaned receipts, in the order of their ids. Every reserve reads them. */
  holds(): ReceiptRow[];
};

export type Change = { [T in TableName]: { table: T; id: string; row: Tables[T] | null } }[TableName];

/** Whether a chain was read as far as its accounts wait for. It says nothing of any account before. */
export function isRead(cursor: CursorRow | null | undefined): cursor is CursorRow {
  return cursor != null && cursor.block >= cursor.readyFrom;
}

export function isHold({ state }: Pick<ReceiptRow, "state">): boolean {
  return state === "open" || state === "orphaned";
}
