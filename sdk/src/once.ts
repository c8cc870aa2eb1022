import type { Connection } from "./connection.ts";

/** Calls a function once for each connection, and again after a failure. */
export function oncePerConnection<T>(
  ask: (connection: Connection) => Promise<T>,
): (connection: Connection) => Promise<T> {
  const asked = new WeakMap<Connection, Promise<T>>();
  return (connection) => {
    const known = asked.get(connection);
    if (known !== undefined) return known;
    const answer = ask(connection);
    asked.set(connection, answer);
    answer.catch(() => asked.delete(connection));
    return answer;
  };
}
