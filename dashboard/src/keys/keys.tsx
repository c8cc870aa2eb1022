import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useKeys } from "../account.ts";
import { ButtonLink, Head } from "../parts.tsx";
import { useRoute } from "../route.ts";
import { NeedsSession } from "../wallet/gate.tsx";
import { type Session, useSession } from "../wallet/session.ts";
import { CreateKey } from "./create-key.tsx";
import { KeyTable } from "./key-table.tsx";

const WHY = "The wallet that added funds signs for its keys. Signing is free.";

export default function Keys(): ReactNode {
  const { rest, query } = useRoute();
  const session = useSession();
  if (rest === "new") {
    return (
      <>
        <Head title="Create key">
          <Link href="/keys">All keys</Link>
        </Head>
        <NeedsSession why={WHY}>{(wallet) => <CreateKey key={wallet.address} wallet={wallet} />}</NeedsSession>
      </>
    );
  }
  return (
    <>
      <Head
        title={<>Keys {session === null ? null : <KeyCount session={session} />}</>}
        side={<ButtonLink icon={Plus} text="Create key" href="/keys/new" className="first" />}
      />
      <NeedsSession why={WHY}>{(wallet) => <KeyTable key={query.get("find")} wallet={wallet} />}</NeedsSession>
    </>
  );
}

function KeyCount({ session }: { session: Session }): ReactNode {
  return <span className="quiet plain-weight">{useKeys(session).data?.length}</span>;
}
