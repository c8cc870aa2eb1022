import type { Change, Rows, TableName, Tables } from "./tables.ts";

/**
 * What a command would change: reads see its own writes, and nothing is written until the whole command has succeeded.
 * A command that throws has changed nothing.
 */
export type Draft = Rows & {
  put<T extends TableName>(table: T, row: Tables[T]): void;
  remove(table: TableName, id: string): void;
  /** Tells the operator: a state that should not occur, and that harmed nobody. */
  alert(message: string): void;
  readonly changes: Change[];
  readonly alerts: string[];
};

export function makeDraft(rows: Rows): Draft {
  const changes: Change[] = [];
  const alerts: string[] = [];
  const write = (table: TableName, id: string, row: Tables[TableName] | null): void => {
    const change = { table, id, row } as Change;
    const index = changes.findIndex((other) => other.table === table && other.id === id);
    if (index === -1) changes.push(change);
    else changes[index] = change;
  };
  return {
    changes,
    alerts,
    get<T extends TableName>(table: T, id: string): Tables[T] | undefined {
      for (const change of changes) {
        if (change.table === table && change.id === id) return (change.row ?? undefined) as Tables[T] | undefined;
      }
      return rows.get(table, id);
    },
    put: (table, row) => write(table, row.id, row),
    remove: (table, id) => write(table, id, null),
    alert: (message) => alerts.push(message),
  };
}
