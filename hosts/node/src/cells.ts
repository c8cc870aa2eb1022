import type { ReadRows, Row, TableName } from "@inference/ledger/tables";

/** One row in memory. */
export class Cell {
  readonly of: Cells;
  readonly table: TableName;
  readonly id: string;
  /** Null: known not to exist. */
  row: Row | null;
  /** The number of the last commit with this row, which may not be durable yet. 0: none. */
  commit = 0;
  /** The next one of its table, where these are a list. */
  also: Cell | undefined = undefined;

  constructor(of: Cells, table: TableName, id: string, row: Row | null) {
    this.of = of;
    this.table = table;
    this.id = id;
    this.row = row;
  }
}

/**
 * The rows of a partition that are in memory, by table. Most accounts have a few rows of a table. A list of them takes
 * less memory than a map, and is searched as fast.
 */
export class Cells {
  readonly name: string;
  readonly rows: ReadRows;
  /** The number of the last commit with one of its cells. */
  commit = 0;
  isUsed = true;
  /** Whether all its holds are here. They leave when they end. */
  hasHolds = false;
  /** The first cell of a list by `also`, or all by their ids. */
  readonly #tables: { [T in TableName]?: Cell | Map<string, Cell> | undefined } = {};

  constructor(name: string, rowsOf: (cells: Cells) => ReadRows) {
    this.name = name;
    this.rows = rowsOf(this);
  }

  find(table: TableName, id: string): Cell | undefined {
    let cell = this.#tables[table];
    if (cell instanceof Map) return cell.get(id);
    while (cell !== undefined && cell.id !== id) cell = cell.also;
    return cell;
  }

  add(table: TableName, id: string, row: Row | null): Cell {
    const cell = new Cell(this, table, id, row);
    const others = this.#tables[table];
    if (others instanceof Map) others.set(id, cell);
    else {
      cell.also = others;
      this.#tables[table] = isLong(cell) ? new Map(listed(cell).map((one) => [one.id, one])) : cell;
    }
    return cell;
  }

  delete(cell: Cell): void {
    const { table, id, also } = cell;
    const cells = this.#tables[table];
    if (cells instanceof Map) {
      cells.delete(id);
      if (cells.size === 0) this.#tables[table] = undefined;
    } else if (cells === cell) this.#tables[table] = also;
    else {
      let before = cells;
      while (before !== undefined && before.also !== cell) before = before.also;
      if (before !== undefined) before.also = also;
    }
  }

  all(table: TableName): Cell[] {
    const cells = this.#tables[table];
    return cells instanceof Map ? [...cells.values()] : listed(cells);
  }

  /** The rows that may differ from their tables, which have all commits up to this number. */
  changed(table: TableName, durable: number): { id: string; row: Row | null }[] {
    const all = this.all(table);
    return all.filter(({ commit }) => commit > durable).map(({ id, row }) => ({ id, row }));
  }
}

/** Up to this many cells of a table are a list. */
const FEW = 16;

function isLong(first: Cell): boolean {
  let count = 0;
  for (let cell: Cell | undefined = first; cell !== undefined; cell = cell.also) count += 1;
  return count > FEW;
}

function listed(first: Cell | undefined): Cell[] {
  const cells: Cell[] = [];
  for (let cell = first; cell !== undefined; cell = cell.also) cells.push(cell);
  return cells;
}
