import type { ReactNode } from "react";
import { Webhooks } from "../keys/webhooks.tsx";
import { Segments } from "../parts/form.tsx";
import { Card, Head } from "../parts.tsx";
import { setTheme, useTheme } from "../theme.ts";
import type { Theme } from "../theme-choice.ts";
import { NeedsSession } from "../wallet/gate.tsx";

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export default function Settings(): ReactNode {
  const theme = useTheme();
  return (
    <>
      <Head title="Settings" />
      <Card title="Theme">
        <div>
          <Segments label="Theme" value={theme} options={THEMES} set={setTheme} />
        </div>
      </Card>
      <NeedsSession why="To show your webhooks and alerts.">{(wallet) => <Webhooks wallet={wallet} />}</NeedsSession>
    </>
  );
}
