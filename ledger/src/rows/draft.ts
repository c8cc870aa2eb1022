import type { Delivery } from "../messages/delivery.ts";
import { assertStorable } from "./storable.ts";
import type { Change, Row, Rows, TableName, Tables } from "./tables.ts";

/**
 * The changes of a command in progress. Its reads see its own writes. Nothing is written until the whole command has
 * succeeded, so a command that throws has changed nothing.
 *
 * A class, because one is made for every command, and a class makes its methods once.
 */
export class Draft implements Rows {
  readonly changes: Change[] = [];
  readonly deliveries: Delivery[] = [];
  readonly alerts: string[] = [];
  readonly #rows: Rows;
  #byName: Map<string, Change> | undefined;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  get<T extends TableName>(table: T, id: string): Tables[T] | undefined {
    const change = this.#find(table, id);
    return change === undefined ? this.#rows.get(table, id) : ((change.row ?? undefined) as Tables[T] | undefined);
  }

  put<T extends TableName>(table: T, row: Tables[T]): void {
    assertStorable(table, row);
    this.#write(table, row.id, row);
  }

  remove(table: TableName, id: string): void {
    this.#write(table, id, null);
  }

  /** Alerts the operator to a state that should not occur and did no harm. */
  alert(message: string): void {
    this.alerts.push(message);
  }

  #write(table: TableName, id: string, row: Row | null): void {
    const change = this.#find(table, id);
    if (change !== undefined) {
      change.row = row;
      return;
    }
    const added = { table, id, row } as Change;
    this.changes.push(added);
    this.#byName?.set(`${table} ${id}`, added);
  }

  /** Most commands change a few rows, and a search through them is cheaper than an index. */
  #find(table: TableName, id: string): Change | undefined {
    if (this.changes.length > FEW) {
      this.#byName ??= new Map(this.changes.map((change) => [`${change.table} ${change.id}`, change]));
      return this.#byName.get(`${table} ${id}`);
    }
    for (const change of this.changes) if (change.table === table && change.id === id) return change;
    return undefined;
  }
}

/** With more changes than this, they are found through an index. */
const FEW = 32;
