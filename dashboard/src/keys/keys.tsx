import type { ReactNode } from "react";
import { Head, KeepFocus } from "../parts.tsx";
import { NeedsWallet, Signed } from "../wallet/gate.tsx";
import { CreateKey } from "./create-key.tsx";
import { KeyList } from "./key-list.tsx";
import { Webhooks } from "./webhooks.tsx";

export default function Keys(): ReactNode {
  return (
    <>
      <Head title="Keys">
        A key lets a program spend your balance. Give each program its own, with a limit, so that you can see what it
        uses and stop it alone.
      </Head>
      <NeedsWallet why="The wallet that added dollars signs for its keys. Signing is free.">
        {(wallet) => (
          <KeepFocus>
            <CreateKey key={wallet.address} wallet={wallet} />
            <Signed why="To show your keys, their limits and what they used." wallet={wallet}>
              {(signed) => (
                <>
                  <KeyList wallet={signed} />
                  <Webhooks wallet={signed} />
                </>
              )}
            </Signed>
          </KeepFocus>
        )}
      </NeedsWallet>
    </>
  );
}
