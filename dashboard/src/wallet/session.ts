import { useSyncExternalStore } from "react";

/** Sessions by address, for as long as the tab is open: a reload needs no new signature. */
const listeners = new Set<() => void>();
const nameOf = (address: string): string => `session:${address.toLowerCase()}`;

export function useSession(address: string): string | null {
  return useSyncExternalStore(onChange, () => sessionStorage.getItem(nameOf(address)));
}

/** @param token Null: the session is over. */
export function keepSession(address: string, token: string | null): void {
  if (token === null) sessionStorage.removeItem(nameOf(address));
  else sessionStorage.setItem(nameOf(address), token);
  for (const changed of listeners) changed();
}

function onChange(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}
