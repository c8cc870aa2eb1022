import { store, useStored } from "./stored.ts";
import { readTheme, showTheme, THEME, type Theme } from "./theme-choice.ts";

export function useTheme(): Theme {
  useStored(localStorage, THEME);
  return readTheme();
}

export function setTheme(theme: Theme): void {
  store(localStorage, THEME, theme);
  showTheme();
}
