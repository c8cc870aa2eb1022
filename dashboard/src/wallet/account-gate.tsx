import { lazy, type ReactNode, Suspense } from "react";
import { Loading } from "../parts.tsx";
import { type Session, useSession } from "./session.ts";

const Gate = lazy(async () => {
  const { NeedsSession } = await import("./gate.tsx");
  return { default: NeedsSession };
});

/** Shows its content once an account has signed in. The code of wallets is loaded only to sign in. */
export function NeedsAccount({ why, children }: { why: string; children: (session: Session) => ReactNode }): ReactNode {
  const session = useSession();
  if (session !== null) return children(session);
  return (
    <WithWallets>
      <Gate why={why}>{children}</Gate>
    </WithWallets>
  );
}

/** While the code of wallets is loaded. */
export function WithWallets({ children }: { children: ReactNode }): ReactNode {
  return <Suspense fallback={<Loading what="wallets" height={200} />}>{children}</Suspense>;
}
