import { paymentCostWei } from "@inference/sdk/payment-cost";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Chain, chainName, coinName, dollarName, gateway, useDirectory } from "../gateway.ts";
import { Table } from "../parts/table.tsx";
import { Card, CopyButton, Read } from "../parts.tsx";
import { aboutCoins } from "./coins.ts";
import { QrAddress } from "./qr-code.tsx";

/** Wallets with a documented link that opens a page in their own browser. */
const PHONE_WALLETS: readonly { name: string; opening: (page: URL) => string }[] = [
  { name: "MetaMask", opening: ({ host, pathname }) => `https://metamask.app.link/dapp/${host}${pathname}` },
  { name: "Coinbase Wallet", opening: ({ href }) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(href)}` },
  {
    name: "Trust Wallet",
    opening: ({ href }) => `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(href)}`,
  },
];

const NEW_WALLETS = [
  ["MetaMask", "https://metamask.io/download"],
  ["Coinbase Wallet", "https://www.coinbase.com/wallet/downloads"],
  ["Rabby", "https://rabby.io"],
] as const;

/** This page, opened in the browser of a wallet on a phone. */
export function OnPhone(): ReactNode {
  const page = new URL("/funds", location.origin);
  return (
    <Card title="Open this page on your phone">
      <QrAddress
        text={page.href}
        label="A code with the address"
        more={
          <>
            <p>On this phone, open the page in:</p>
            <p className="row">
              {PHONE_WALLETS.map(({ name, opening }) => (
                <a key={name} className="button little" href={opening(page)} rel="noreferrer">
                  {name}
                </a>
              ))}
            </p>
          </>
        }
      >
        Scan the code with your wallet's own scanner, or open the address in your wallet's browser. The phone's usual
        browser does not reach the wallet.
      </QrAddress>
    </Card>
  );
}

/** From nothing to dollars in a wallet, for the chains of this gateway. */
export function Guide(): ReactNode {
  const directory = useDirectory();
  return (
    <Card title="From nothing to a balance">
      <ol className="stack steps-plain">
        <li>
          <strong>Get a wallet.</strong> It is an app or a browser extension that keeps your dollars and signs for you.
          Install one from its maker's own site:{" "}
          {NEW_WALLETS.map(([name, href], index) => (
            <span key={name}>
              {index === 0 ? "" : ", "}
              <a href={href} rel="noreferrer">
                {name}
              </a>
            </span>
          ))}
          . Write down its recovery words on paper. Nobody can restore them.
        </li>
        <li>
          <strong>Send dollars and a little coin for gas to its address,</strong> from an exchange or a friend, on one
          of these chains. Choose the same chain there: what is sent on another chain does not arrive here.
          <Read from={directory} what="chains" height={140}>
            {({ chains }) => <Chains chains={chains} />}
          </Read>
        </li>
        <li>
          <strong>Come back</strong> and choose “Wallet in this browser”, or “Wallet on a phone”. One dollar paid is one
          dollar of balance: this service takes no fee.
        </li>
      </ol>
    </Card>
  );
}

function Chains({ chains }: { chains: Chain[] }): ReactNode {
  return (
    <Table
      label="Chains and their dollars"
      asCards
      rows={chains}
      keyOf={({ chain_id: id }) => String(id)}
      columns={[
        { title: "Chain", kind: "name", cell: (chain) => chainName(chain) },
        {
          title: "Dollar",
          inCard: "titled",
          cell: (chain) => (
            <span className="row tight">
              {dollarName(chain)}
              {chain.stablecoin?.address == null ? null : (
                <CopyButton
                  text={chain.stablecoin.address}
                  label={`Copy the contract of ${dollarName(chain)}`}
                  isIcon
                />
              )}
            </span>
          ),
        },
        { title: "Gas of a payment", inCard: "titled", cell: (chain) => <GasOf chain={chain} /> },
        {
          title: "To the balance",
          inCard: "titled",
          cell: ({ role }) => (role === "primary" ? "fastest" : "minutes, at times up to a day"),
        },
      ]}
    />
  );
}

function GasOf({ chain }: { chain: Chain }): ReactNode {
  const { data } = usePaymentCost(chain);
  return data === undefined ? `some ${coinName(chain)}` : `about ${aboutCoins(data)} ${coinName(chain)}`;
}

/** About what a payment on a chain costs besides the dollars, in 1e-18 of its coin. */
export function usePaymentCost({ chain_id: id }: Chain, reading = gateway) {
  return useQuery({
    queryKey: ["payment-cost", id],
    queryFn: () => paymentCostWei(reading, id),
    refetchInterval: 30_000,
    retry: false,
  });
}
