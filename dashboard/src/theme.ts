import { useSyncExternalStore } from "react";
import { keepTheme, readTheme, type Theme } from "./theme-choice.ts";

const listeners = new Set<() => void>();

export function useTheme(): Theme {
  return useSyncExternalStore((changed) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, readTheme);
}

export function setTheme(theme: Theme): void {
  keepTheme(theme);
  for (const changed of listeners) changed();
}
