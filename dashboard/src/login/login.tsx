import type { KeyTermTexts } from "@inference/protocol/key-message";
import { fromWallet } from "@inference/sdk/errors";
import { requireAccount } from "@inference/sdk/send";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { keySentence } from "../keys/key-sentence.ts";
import { usePrepared } from "../keys/sign.tsx";
import { SignedText } from "../keys/signed-text.tsx";
import { CodeBlock } from "../parts/code.tsx";
import { Button, Card, Failure, Head, Note } from "../parts.tsx";
import { useRoute } from "../route.ts";
import { NeedsWallet } from "../wallet/gate.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { codeOf, readLogin } from "./code.ts";

/** A program in a terminal asks for a key: the wallet signs for it here. `cli/README.md` has the contract. */
export default function Login(): ReactNode {
  const { query } = useRoute();
  const asked = readLogin(query);
  return (
    <>
      <Head title="Log in a program">
        A program on your computer asks for a key to your balance. Go on only if you have just started it yourself.
      </Head>
      {asked === null ? (
        <Note kind="bad">
          This address is not of a login that can be trusted: it must lead back to this computer. Start it again.
        </Note>
      ) : (
        <NeedsWallet signsIn={false} why="The wallet that added funds signs for the key. Signing is free.">
          {(wallet) => <Own key={wallet.address} wallet={wallet} {...asked} />}
        </NeedsWallet>
      )}
    </>
  );
}

function Own({ wallet, callback, state, terms }: OwnParts): ReactNode {
  const [code, setCode] = useState<string>();
  const prepared = usePrepared(wallet, { type: "create", terms });
  const sign = async (message: string): Promise<string> => {
    // The program sends the message, so the key is never on this page.
    const signature = await fromWallet(requireAccount(wallet.acting).signMessage({ message }));
    return codeOf({ state, message, signature });
  };
  if (code !== undefined) {
    return (
      <Card title="Signed" className="keep">
        <p>Hand it to the program. It goes to this computer only ({new URL(callback).host}).</p>
        <p>
          <Button
            text="Go on to the program"
            className="first"
            act={() => location.assign(`${callback}?code=${code}`)}
          />
        </p>
        <details>
          <summary>The program is on another computer</summary>
          <CodeBlock label="Paste this code there" text={code} />
        </details>
      </Card>
    );
  }
  return (
    <Card title={keySentence(terms)}>
      <Failure error={prepared.error} again={() => void prepared.refetch()} />
      {prepared.data === undefined ? null : (
        <SignedText
          prepared={{ ...prepared.data, sign: () => sign(prepared.data.message) }}
          done={setCode}
          again={() => void prepared.refetch()}
          about={
            <>
              You sign this text, and your wallet must show the same one. You can disable the key on{" "}
              <Link href="/keys">Keys</Link>.
            </>
          }
        />
      )}
    </Card>
  );
}
type OwnParts = { wallet: Wallet; callback: string; state: string; terms: KeyTermTexts };
