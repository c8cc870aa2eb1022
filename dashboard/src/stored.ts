import { useSyncExternalStore } from "react";

/** Texts in the browser's storage, which pages follow; those of `localStorage` also when another tab changes them. */
const listeners = new Set<() => void>();

/** @param name Null: none. */
export function useStored(storage: Storage, name: string | null): string | null {
  return useSyncExternalStore(follow, () => (name === null ? null : storage.getItem(name)));
}

/** @param text Null: the browser forgets it. */
export function store(storage: Storage, name: string, text: string | null): void {
  if (text === null) storage.removeItem(name);
  else storage.setItem(name, text);
  for (const changed of listeners) changed();
}

function follow(changed: () => void): () => void {
  listeners.add(changed);
  addEventListener("storage", changed);
  return () => {
    listeners.delete(changed);
    removeEventListener("storage", changed);
  };
}
