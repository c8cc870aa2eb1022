import { ownValue } from "@inference/protocol/own-value";
import { useQueryClient } from "@tanstack/react-query";
import { Component, lazy, type ReactNode, Suspense, useEffect, useRef } from "react";
import { useStatus } from "./gateway.ts";
import { Button, ButtonLink, Loading, Note } from "./parts.tsx";
import { useRoute } from "./route.ts";
import { Header } from "./shell/header.tsx";
import { BottomBar, Links, Side } from "./shell/navigation.tsx";
import { places } from "./shell/places.ts";
import { useSession } from "./wallet/session.ts";

type Listed = { Page: React.LazyExoticComponent<() => ReactNode>; needsWallet?: true };

/** Every page is loaded when it is opened. `needsWallet`: its header loads the code of wallets at once. */
const PAGES = {
  "": { Page: lazy(() => import("./home/home.tsx")) },
  chat: { Page: lazy(() => import("./chat/chat.tsx")), needsWallet: true },
  models: { Page: lazy(() => import("./models/models.tsx")) },
  keys: { Page: lazy(() => import("./keys/keys.tsx")), needsWallet: true },
  activity: { Page: lazy(() => import("./activity/activity.tsx")), needsWallet: true },
  funds: { Page: lazy(() => import("./dollars/dollars.tsx")), needsWallet: true },
  agents: { Page: lazy(() => import("./agents/agents.tsx")), needsWallet: true },
  verify: { Page: lazy(() => import("./verify/verify.tsx")), needsWallet: true },
  status: { Page: lazy(() => import("./status/status.tsx")) },
  settings: { Page: lazy(() => import("./settings/settings.tsx")), needsWallet: true },
  login: { Page: lazy(() => import("./login/login.tsx")), needsWallet: true },
} satisfies Record<string, Listed>;
export type PageName = keyof typeof PAGES;
const Landing = lazy(() => import("./home/landing.tsx"));

export function App(): ReactNode {
  const { place, rest } = useRoute();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(place);
  const session = useSession();
  const { data: status } = useStatus();
  const at = ownValue<Listed>(PAGES, place);
  const title = places.find(({ name }) => name === place)?.title ?? (at === undefined ? "Not found" : "Log in");
  const isLanding = place === "" && session === null;
  useEffect(() => {
    const name = status?.operator.name ?? "";
    document.title = isLanding ? name : [title, ...(name === "" ? [] : [name])].join(" · ");
  }, [title, isLanding, status]);
  useEffect(() => {
    if (shown.current === place) return;
    shown.current = place;
    // Moves the focus of a screen reader to the new content, and scrolls to its beginning.
    main.current?.focus();
    scrollTo(0, 0);
  }, [place]);
  const page = (
    <main id="main" ref={main} tabIndex={-1}>
      <OtherAddress />
      <Boundary key={place === "activity" ? place : `${place}/${rest}`}>
        <Suspense fallback={<Loading what="page" height={320} />}>
          {isLanding ? <Landing /> : at === undefined ? <NotFound /> : <at.Page />}
        </Suspense>
      </Boundary>
    </main>
  );
  const skip = <Button text="Skip to the content" className="skip" act={() => main.current?.focus()} />;
  if (isLanding) {
    return (
      <div className="landing">
        {skip}
        <Away />
        {page}
        <Links />
      </div>
    );
  }
  return (
    <div className="frame">
      {skip}
      <Side place={place} />
      <div className="body">
        <Header place={place} needsWallet={at?.needsWallet === true} />
        <Away />
        {page}
        <Links />
      </div>
      <BottomBar place={place} />
    </div>
  );
}

/** While the service does not answer: one banner, and the figures stay as they were read. */
function Away(): ReactNode {
  const { error, isFetching, refetch } = useStatus();
  const queries = useQueryClient();
  const isAway = error !== null;
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(async () => {
      const { isSuccess } = await refetch();
      if (isSuccess) await queries.refetchQueries({ type: "active" });
    }, 5_000);
    return () => clearInterval(timer);
  }, [isAway, refetch, queries]);
  if (!isAway) return null;
  return (
    <div className="banner" role="status">
      The service does not answer. Your balance is not affected.{" "}
      {isFetching ? "Trying now." : "Trying again every 5 s."}
    </div>
  );
}

/** Signed messages name the gateway's address, and would be refused from another one. */
function OtherAddress(): ReactNode {
  const { data } = useStatus();
  if (data === undefined || new URL(data.base_url).origin === location.origin) return null;
  return (
    <Note kind="warn">
      This service's own address is <a href={data.base_url}>{data.base_url}</a>. Open it there: what you sign here would
      be refused.
    </Note>
  );
}

function NotFound(): ReactNode {
  return (
    <div className="empty">
      <h1>There is no such page</h1>
      <ButtonLink text="Home" href="/" />
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
          <Button text="Load it again" act={() => location.reload()} />
        </p>
      </Note>
    );
  }
}
