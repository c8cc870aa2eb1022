import type { ReactNode } from "react";
import { WagmiProvider } from "wagmi";
import { useDirectory } from "../gateway.ts";
import { Read } from "../parts.tsx";
import { walletConfig } from "./config.ts";

/** The parent of components that use a wallet. Several parents share one state. */
export function WithWallet({ children }: { children: ReactNode }): ReactNode {
  const directory = useDirectory();
  return (
    <Read from={directory} what="chains">
      {(data) => <WagmiProvider config={walletConfig(data)}>{children}</WagmiProvider>}
    </Read>
  );
}
