import { Moon, Sun, SunMoon } from "lucide-react";
import type { ReactNode } from "react";
import { setTheme, useTheme } from "../theme.ts";
import { nextTheme } from "../theme-choice.ts";

const ICONS = { system: SunMoon, light: Sun, dark: Moon } as const;

/** Goes on to the next of: as the system, light, dark. */
export function ThemeButton({ hasText = false }: { hasText?: boolean }): ReactNode {
  const theme = useTheme();
  const Icon = ICONS[theme];
  const name = `Theme: ${theme}`;
  return (
    <button
      type="button"
      className={hasText ? "" : "icon"}
      title={name}
      aria-label={hasText ? undefined : name}
      onClick={() => setTheme(nextTheme(theme))}
    >
      <Icon aria-hidden="true" />
      {hasText ? name : null}
    </button>
  );
}
