import { ownValue } from "@inference/protocol/own-value";
import { Component, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { useStatus } from "./gateway.ts";
import { Home } from "./home/home.tsx";
import { Models } from "./models/models.tsx";
import { Loading, Note } from "./parts.tsx";
import { useRoute } from "./route.ts";
import { Status } from "./status/status.tsx";

/** Loaded on demand, so that the first view is small. */
const WalletCorner = lazy(() => import("./wallet/corner.tsx"));
const Dollars = lazy(() => import("./dollars/dollars.tsx"));
const Keys = lazy(() => import("./keys/keys.tsx"));
const Spending = lazy(() => import("./spending/spending.tsx"));
const Receipt = lazy(() => import("./spending/receipt.tsx"));
const Agents = lazy(() => import("./agents/agents.tsx"));
const Verify = lazy(() => import("./verify/verify.tsx"));
const Login = lazy(() => import("./login/login.tsx"));

type Place = {
  title: string;
  show: () => ReactNode;
  isListed?: boolean;
  hasGap?: boolean;
  needsWallet?: boolean;
};

const PLACES: Readonly<Record<string, Place>> = {
  "": { title: "Overview", show: () => <Home />, isListed: true },
  models: { title: "Models and prices", show: () => <Models />, isListed: true },
  dollars: { title: "Add dollars", show: () => <Dollars />, isListed: true, hasGap: true, needsWallet: true },
  keys: { title: "Keys", show: () => <Keys />, isListed: true, needsWallet: true },
  spending: { title: "Spending", show: () => <Spending />, isListed: true, needsWallet: true },
  agents: { title: "Agents", show: () => <Agents />, isListed: true, needsWallet: true },
  status: { title: "Status and reserves", show: () => <Status />, isListed: true, hasGap: true },
  verify: { title: "Check a bill", show: () => <Verify />, isListed: true, needsWallet: true },
  receipt: { title: "Receipt", show: () => <Receipt />, needsWallet: true },
  login: { title: "Log in a program", show: () => <Login />, needsWallet: true },
};

export function App(): ReactNode {
  const { place, rest } = useRoute();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(place);
  const at = ownValue(PLACES, place);
  useEffect(() => {
    document.title = `${at?.title ?? "Not found"} · Inference`;
    if (shown.current === place) return;
    shown.current = place;
    // Moves the focus of a screen reader to the new content, and scrolls to its beginning.
    main.current?.focus();
    scrollTo(0, 0);
  }, [place, at]);
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Side place={place} />
      <div className="body">
        <header className="top">
          <Corner isNeeded={at?.needsWallet === true} />
        </header>
        <main id="main" ref={main} tabIndex={-1}>
          <OtherAddress />
          <Boundary key={`${place}/${rest}`}>
            <Suspense fallback={<Loading what="page" />}>{at?.show() ?? <NotFound />}</Suspense>
          </Boundary>
        </main>
        <Foot />
      </div>
    </div>
  );
}

/** Loads the wallet's code if a wallet was connected before, else on demand. */
function Corner({ isNeeded }: { isNeeded: boolean }): ReactNode {
  const [isAsked, ask] = useState(false);
  const [wasUsed, use] = useState(() => localStorage.getItem("wallet.recentConnectorId") !== null);
  useEffect(() => {
    if (isNeeded) use(true);
  }, [isNeeded]);
  const button = (
    <button type="button" onClick={() => ask(true)}>
      Connect a wallet
    </button>
  );
  if (!isAsked && !wasUsed && !isNeeded) return button;
  return (
    <Suspense fallback={button}>
      <WalletCorner opensAtOnce={isAsked} />
    </Suspense>
  );
}

function Side({ place }: { place: string }): ReactNode {
  return (
    <nav className="side" aria-label="Places">
      <a className="brand" href="#/">
        <span aria-hidden="true" className="badge good">
          $
        </span>
        Inference
      </a>
      <ul className="places">
        {Object.entries(PLACES).map(([name, { title, isListed, hasGap }]) =>
          isListed ? (
            <li key={name} className={hasGap ? "gap" : undefined}>
              <a href={`#/${name}`} aria-current={name === place ? "page" : undefined}>
                {title}
              </a>
            </li>
          ) : null,
        )}
      </ul>
    </nav>
  );
}

function Foot(): ReactNode {
  const status = useStatus();
  return (
    <footer>
      <a href="/docs">Documentation of the API</a>
      <a href="/llms.txt">For language models</a>
      <a href="#/status">Status</a>
      {status.data === undefined ? null : <span>Version {status.data.version}</span>}
    </footer>
  );
}

/** Signed messages name the gateway's address, and would be refused from another one. */
function OtherAddress(): ReactNode {
  const { data } = useStatus();
  if (data === undefined || new URL(data.base_url).origin === location.origin) return null;
  return (
    <Note kind="warn">
      <p>
        This service's own address is <a href={data.base_url}>{data.base_url}</a>. Open it there: what you sign here
        would be refused.
      </p>
    </Note>
  );
}

function NotFound(): ReactNode {
  return (
    <div className="head">
      <h1>There is no such page</h1>
      <p>
        Go to the <a href="#/">overview</a>.
      </p>
    </div>
  );
}

/** Keeps the other pages when one fails. */
class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined as unknown };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Note kind="bad">
        <p>This page has failed: {String(this.state.error)}</p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Load it again
          </button>
        </p>
      </Note>
    );
  }
}
