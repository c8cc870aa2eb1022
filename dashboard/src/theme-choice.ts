/** The reader's choice of colours, kept in the browser. `system`: as the system has it. */
export type Theme = "system" | "light" | "dark";

const THEMES: readonly Theme[] = ["system", "light", "dark"];
export const THEME = "theme";

export function readTheme(): Theme {
  const kept = localStorage.getItem(THEME);
  return THEMES.find((theme) => theme === kept) ?? "system";
}

export function keepTheme(theme: Theme): void {
  localStorage.setItem(THEME, theme);
  showTheme();
}

export function showTheme(): void {
  const theme = readTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The next of system, light and dark. */
export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
}
