import { Moon, Sun, SunMoon } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../parts.tsx";
import { setTheme, useTheme } from "../theme.ts";
import { nextTheme } from "../theme-choice.ts";

const ICONS = { system: SunMoon, light: Sun, dark: Moon } as const;

/** Goes on to the next of: as the system, light, dark. */
export function ThemeButton({ hasText = false }: { hasText?: boolean }): ReactNode {
  const theme = useTheme();
  const Icon = ICONS[theme];
  const name = `Theme: ${theme}`;
  return (
    <Button
      icon={Icon}
      text={hasText ? name : null}
      className={hasText ? "" : "icon"}
      title={name}
      label={hasText ? undefined : name}
      act={() => setTheme(nextTheme(theme))}
    />
  );
}
