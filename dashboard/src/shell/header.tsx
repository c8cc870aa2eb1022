import { Search } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { Link } from "wouter";
import { useCredits } from "../account.ts";
import { Amount, Button } from "../parts.tsx";
import { type Session, useSession } from "../wallet/session.ts";
import { Brand } from "./navigation.tsx";
import { ThemeButton } from "./theme-button.tsx";

/** Loaded on demand, so that the first view is small. */
const AccountCorner = lazy(() => import("../wallet/corner.tsx"));
const CommandMenu = lazy(() => import("./command-menu.tsx"));

/** Search, the balance, and the account. */
export function Header({ place, needsWallet }: { place: string; needsWallet: boolean }): ReactNode {
  const session = useSession();
  return (
    <header className="top">
      <Brand />
      <SearchButton />
      <div className="end">
        {session === null ? null : <Balance session={session} />}
        {session === null || place === "funds" ? null : (
          <Link href="/funds" className={`button wide-only ${place === "" ? "first" : ""}`}>
            Add funds
          </Link>
        )}
        <span className="wide-only">
          <ThemeButton />
        </span>
        <Account isNeeded={needsWallet} />
      </div>
    </header>
  );
}

function Balance({ session }: { session: Session }): ReactNode {
  const { data } = useCredits(session);
  if (data === undefined) return null;
  return (
    <Link href="/funds" className="balance wide-only">
      Balance <Amount nanoUsd={data.available_nano_usd} />
    </Link>
  );
}

/** Opens the command menu; so do Ctrl-K, Cmd-K and `/`. */
function SearchButton(): ReactNode {
  const [isOpen, open] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select") !== null;
      const asks = event.key === "k" && (event.metaKey || event.ctrlKey);
      if (!asks && (event.key !== "/" || isTyping || event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      open(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button type="button" className="search" onClick={() => open(true)}>
        <Search />
        <span>Search or jump to…</span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      {isOpen ? (
        <Suspense>
          <CommandMenu close={() => open(false)} />
        </Suspense>
      ) : null}
    </>
  );
}

/** Loads the code of wallets if one was connected before, if the page needs it, or when asked. */
export function Account({ isNeeded }: { isNeeded: boolean }): ReactNode {
  const [isAsked, ask] = useState(false);
  const [wasUsed, use] = useState(() => localStorage.getItem("wallet.recentConnectorId") !== null);
  useEffect(() => {
    if (isNeeded) use(true);
  }, [isNeeded]);
  const button = <Button text="Log in" act={() => ask(true)} />;
  if (!isAsked && !wasUsed && !isNeeded) return button;
  return (
    <Suspense fallback={button}>
      <AccountCorner opensAtOnce={isAsked} />
    </Suspense>
  );
}
