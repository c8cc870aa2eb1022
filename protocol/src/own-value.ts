/**
 * Looks a name up in a table. Undefined for a name that the table only inherits, such as `constructor`, so the name may
 * come from outside.
 */
export function ownValue<T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}
