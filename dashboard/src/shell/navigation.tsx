import { BookOpen, Ellipsis, Sparkle } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useStatus } from "../gateway.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Button } from "../parts.tsx";
import { FIRST_PLACES, type Place, places } from "./places.ts";
import { ThemeButton } from "./theme-button.tsx";

/** The service's name and logo, as its operator sets them. */
export function Brand(): ReactNode {
  const { data } = useStatus();
  const logo = data?.operator.logo_url ?? null;
  return (
    <Link className="brand" href="/">
      {logo === null ? <Sparkle fill="currentcolor" /> : <img src={logo} alt="" />}
      {data?.operator.name ?? <span className="hidden">Home</span>}
    </Link>
  );
}

export function Side({ place }: { place: string }): ReactNode {
  return (
    <aside className="side" aria-label="Menu">
      <Brand />
      <Places place={place} shown={places} />
      <div className="foot">
        <State />
      </div>
    </aside>
  );
}

function Places({ place, shown }: { place: string; shown: readonly Place[] }): ReactNode {
  return (
    <nav aria-label="Pages">
      <ul className="places">
        {shown.map(({ name, title, Icon }) => (
          <li key={name} className={name === "verify" ? "gap" : undefined}>
            <Link href={`/${name}`} aria-current={name === place ? "page" : undefined}>
              <Icon />
              {title}
            </Link>
          </li>
        ))}
        <li>
          <a href="/docs">
            <BookOpen />
            Docs
          </a>
        </li>
      </ul>
    </nav>
  );
}

/** Below 720 px: four places, and a sheet with the others. */
export function BottomBar({ place }: { place: string }): ReactNode {
  const [isOpen, open] = useState(false);
  const isFirst = ({ name }: Place): boolean => FIRST_PLACES.includes(name);
  return (
    <nav className="bottom" aria-label="Main pages">
      {places.filter(isFirst).map(({ name, title, Icon }) => (
        <Link key={name} href={`/${name}`} aria-current={name === place ? "page" : undefined}>
          <Icon />
          {title}
        </Link>
      ))}
      <Button icon={Ellipsis} text="More" aria-expanded={isOpen} act={() => open(true)} />
      {isOpen ? (
        <Dialog title="More" className="sheet" close={() => open(false)}>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: a link's click also comes from the keyboard */}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: it closes when a link in it is followed */}
          <div
            className="stack"
            onClick={({ target }) => target instanceof Element && target.closest("a") && open(false)}
          >
            <Places place={place} shown={places.filter((each) => !isFirst(each))} />
            <div className="row apart">
              <State />
              <ThemeButton hasText />
            </div>
          </div>
        </Dialog>
      ) : null}
    </nav>
  );
}

/** Whether the service works and its reserves match, in two lines. */
export function State(): ReactNode {
  const { data, error } = useStatus();
  if (error !== null) return <span className="state bad">The service does not answer</span>;
  if (data === undefined) return null;
  const { following, books, prices, settler } = data;
  const isNormal = following.state === "following" && prices !== null && settler?.state !== "waiting";
  return (
    <>
      <Link href="/status" className={`state ${isNormal ? "good" : "warn"}`}>
        {isNormal ? "All systems normal" : "Not all systems normal"}
      </Link>
      <span>
        {books?.adds_up === true
          ? "Reserves match"
          : books?.adds_up === false
            ? "Reserves do not match"
            : "Reserves not all read"}
      </span>
    </>
  );
}

/** The links of the operator, at the end of each page. */
export function Links(): ReactNode {
  const { data } = useStatus();
  if (data === undefined) return null;
  const { support_url: support, terms_url: terms, privacy_url: privacy } = data.operator;
  return (
    <footer className="links">
      {terms === null ? <span>Terms are not set</span> : <a href={terms}>Terms</a>}
      {privacy === null ? <span>Privacy policy is not set</span> : <a href={privacy}>Privacy</a>}
      {support === null ? null : <a href={support}>{support.replace(/^mailto:/, "")}</a>}
      <a href="/llms.txt">For language models</a>
      <span>Version {data.version}</span>
    </footer>
  );
}
