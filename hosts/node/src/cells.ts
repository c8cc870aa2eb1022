import type { ReadRows, Row, TableName } from "@inference/ledger/tables";

/** One row in memory. */
export class Cell {
  readonly of: Cells;
  readonly table: TableName;
  readonly id: string;
  /** Null: known not to exist. */
  row: Row | null;
  /** Whether it waits for the next commit. */
  isPending = false;
  /** The number of commits with this row that are not folded. */
  beingWritten = 0;
  /** The next one of a list: see `Cells`. */
  also: Cell | undefined = undefined;

  constructor(of: Cells, table: TableName, id: string, row: Row | null) {
    this.of = of;
    this.table = table;
    this.id = id;
    this.row = row;
  }

  /** Whether it is as in its table. */
  isAtRest(): boolean {
    return !this.isPending && this.beingWritten === 0;
  }
}

/**
 * The rows of a partition that are in memory. Most accounts have a few. A list of them takes less memory than a map for
 * each table, and is searched as fast.
 */
export class Cells {
  readonly name: string;
  readonly rows: ReadRows;
  /** How often its cells are in a commit that waits or is not folded. */
  busy = 0;
  isUsed = true;
  /** The first of a list by `also`. */
  #few: Cell | undefined = undefined;
  /** In place of the list once it is long: the first cell of each id. Those of other tables follow by `also`. */
  #byId: Map<string, Cell> | undefined = undefined;
  #count = 0;

  constructor(name: string, rowsOf: (cells: Cells) => ReadRows) {
    this.name = name;
    this.rows = rowsOf(this);
  }

  find(table: TableName, id: string): Cell | undefined {
    let cell = this.#byId === undefined ? this.#few : this.#byId.get(id);
    while (cell !== undefined && (cell.table !== table || cell.id !== id)) cell = cell.also;
    return cell;
  }

  add(table: TableName, id: string, row: Row | null): Cell {
    const cell = new Cell(this, table, id, row);
    this.#link(cell);
    this.#count += 1;
    if (this.#byId === undefined && this.#count > FEW) this.#relink(new Map());
    return cell;
  }

  delete(cell: Cell): void {
    const first = this.#byId === undefined ? this.#few : this.#byId.get(cell.id);
    if (first === cell) this.#unlinkFirst(cell);
    else {
      let before = first;
      while (before !== undefined && before.also !== cell) before = before.also;
      if (before === undefined) return;
      before.also = cell.also;
    }
    this.#count -= 1;
    if (this.#byId !== undefined && this.#count < FEW / 2) this.#relink(undefined);
  }

  /** The rows that differ from their tables. */
  changed(table: TableName): { id: string; row: Row | null }[] {
    const found: { id: string; row: Row | null }[] = [];
    for (const cell of this.#all()) {
      if (cell.table === table && !cell.isAtRest()) found.push({ id: cell.id, row: cell.row });
    }
    return found;
  }

  #link(cell: Cell): void {
    if (this.#byId === undefined) {
      cell.also = this.#few;
      this.#few = cell;
    } else {
      cell.also = this.#byId.get(cell.id);
      this.#byId.set(cell.id, cell);
    }
  }

  #unlinkFirst(cell: Cell): void {
    if (this.#byId === undefined) this.#few = cell.also;
    else if (cell.also === undefined) this.#byId.delete(cell.id);
    else this.#byId.set(cell.id, cell.also);
  }

  #relink(byId: Map<string, Cell> | undefined): void {
    const all = [...this.#all()];
    this.#few = undefined;
    this.#byId = byId;
    for (const cell of all) this.#link(cell);
  }

  *#all(): Generator<Cell> {
    for (const first of this.#byId?.values() ?? [this.#few]) {
      for (let cell = first; cell !== undefined; cell = cell.also) yield cell;
    }
  }
}

/** Up to this many cells are searched in turn. */
const FEW = 16;
