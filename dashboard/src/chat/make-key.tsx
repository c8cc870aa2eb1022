import { parseDecimal } from "@inference/protocol/money";
import type { NewApiKey } from "@inference/sdk/keys";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { Sign } from "../keys/sign.tsx";
import { TextField } from "../parts/form.tsx";
import { Card } from "../parts.tsx";
import { NeedsSession } from "../wallet/gate.tsx";
import type { SignedIn } from "../wallet/wallet.ts";
import { keepChatKey } from "./chat-key.ts";

/** Makes the page's own key: one signature. */
export default function MakeKey(): ReactNode {
  return (
    <NeedsSession why="Chat is paid from your balance, by a key with its own small limit.">
      {(signedIn) => <MakeForm wallet={signedIn} />}
    </NeedsSession>
  );
}

function MakeForm({ wallet }: { wallet: SignedIn }): ReactNode {
  const [limit, setLimit] = useState("1.00");
  const queries = useQueryClient();
  const nano = parseDecimal(limit.trim(), 9);
  const isLimit = nano !== undefined && nano > 0n;
  const terms = { name: "Chat", limit: limit.trim(), limit_reset: "daily" as const };
  const done = (made: NewApiKey): void => {
    keepChatKey(wallet.address, { key: made.key, id: made.data.id });
    void queries.invalidateQueries({ queryKey: ["own"] });
  };
  return (
    <Card title="Give Chat a key" className="make-key">
      <Sign {...{ wallet, done }} asked={{ type: "create", terms }} isValid={isLimit} text="Sign and start">
        <TextField
          inputMode="decimal"
          label="Limit a day, in dollars"
          error={isLimit ? undefined : "An amount in dollars, such as 1.00."}
          text={limit}
          set={setLimit}
        />
        <p className="quiet">
          Key <strong>Chat</strong>: at most {isLimit ? usd(nano) : "–"} a day, any model, no expiry. It stays in this
          browser, and whoever can use this browser can spend up to its limit. You can disable it on Keys at any time.
        </p>
      </Sign>
    </Card>
  );
}
