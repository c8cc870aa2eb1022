import { parseDecimal } from "@inference/protocol/money";
import { createAgent } from "@inference/sdk/agents";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { TextField } from "../parts/form.tsx";
import { Steps } from "../parts/steps.tsx";
import { Card } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { ActForm, useAct } from "../wallet/act.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { STEPS } from "./steps.tsx";

const MAX_NAME = 64;
const MAX_SYMBOL = 11;

/** The first step of an agent. The others are on the page of the agent. */
export function Create({ wallet }: { wallet: Wallet }): ReactNode {
  const [, goTo] = useLocation();
  const [name, setName] = useState("");
  const [symbol, setSymbol] = useState("");
  const [supplyText, setSupply] = useState("1000000");
  const act = useAct(
    (given: { name: string; symbol: string; supply: bigint }, options) =>
      createAgent(wallet.acting, { ...given, ...options }),
    ({ agent }) => goTo(pathTo("agents", agent.token, { setup: "1" })),
  );
  const supply = parseDecimal(supplyText.trim(), 18) ?? 0n;
  const [cleanName, cleanSymbol] = [name.trim(), symbol.trim()];
  const isComplete = cleanName !== "" && cleanSymbol !== "" && supply > 0n;
  const start = isComplete ? () => act.start({ name: cleanName, symbol: cleanSymbol, supply }) : null;
  const form = (
    <ActForm act={act} label="Create agent" start={start}>
      <div className="fields">
        <TextField label="Name" maxLength={MAX_NAME} text={name} set={setName} />
        <TextField
          label="Symbol"
          about="Of its token, such as OWL."
          maxLength={MAX_SYMBOL}
          text={symbol}
          set={(text) => setSymbol(text.toUpperCase())}
        />
        <TextField
          label="Supply"
          about="Your wallet gets all of its tokens."
          error={supply > 0n ? undefined : "A number above 0."}
          inputMode="decimal"
          text={supplyText}
          set={setSupply}
        />
      </div>
      <p className="hint">
        One transaction makes the token, a Safe that your wallet owns, and a treasury. Name, symbol and supply cannot be
        changed later.
      </p>
    </ActForm>
  );
  return (
    <Card title="Six steps">
      <Steps
        steps={STEPS.map((name, index) => (index === 0 ? { name, mark: "now", about: form } : { name, mark: "later" }))}
      />
    </Card>
  );
}
