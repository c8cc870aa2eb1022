import { isRejected } from "@inference/sdk/errors";
import type { ReactNode } from "react";
import { useConnect, useConnectors } from "wagmi";
import { Link } from "wouter";
import { Button, Failure, Note } from "../parts.tsx";
import { wantSession } from "./sign-in.ts";

/** The wallets that this browser has. @param signsIn Whether the chosen one is asked to sign in at once. */
export function ConnectList({ signsIn = true }: { signsIn?: boolean }): ReactNode {
  const connectors = useConnectors();
  const { mutate, error, isPending, variables } = useConnect({
    mutation: {
      onMutate: () => wantSession(signsIn),
      onError: () => wantSession(false),
    },
  });
  if (connectors.length === 0) {
    return (
      <Note>
        <p>
          <strong>No wallet was found in this browser.</strong>
        </p>
        <p>
          A wallet keeps your dollars and signs for you. <Link href="/funds">Add funds</Link> explains how to get one,
          and opens this page in a wallet on your phone.
        </p>
      </Note>
    );
  }
  return (
    <>
      <ul className="wallets">
        {connectors.map((connector) => (
          <li key={connector.uid}>
            <Button
              text={
                <>
                  {connector.icon === undefined ? null : <img src={connector.icon.trim()} alt="" />}
                  {connector.name}
                  {isPending && variables?.connector === connector ? <span className="quiet">waiting …</span> : null}
                </>
              }
              disabled={isPending}
              act={() => mutate({ connector })}
            />
          </li>
        ))}
      </ul>
      {error === null ? null : (
        <Failure error={isRejected(error) ? new Error("You declined in your wallet.") : error} />
      )}
    </>
  );
}
