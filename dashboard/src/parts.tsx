import type { UseQueryResult } from "@tanstack/react-query";
import { Check, ChevronRight, Copy, type LucideIcon } from "lucide-react";
import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Link } from "wouter";
import { partsOfUsd, shortHex } from "./format.ts";

/** The title of a page, one sentence about it at most, and its actions. */
export function Head({ title, side, children }: { title: ReactNode; side?: ReactNode; children?: ReactNode }) {
  return (
    <div className="head">
      <div>
        <h1>{title}</h1>
        {children === undefined ? null : <p>{children}</p>}
      </div>
      {side === undefined ? null : <div className="row">{side}</div>}
    </div>
  );
}

/** The way back to the page of all. */
export function Crumbs({ title, href }: { title: string; href: string }): ReactNode {
  return (
    <nav className="crumbs" aria-label="Breadcrumb">
      <Link className="up" href={href}>
        {title}
      </Link>
      <ChevronRight />
    </nav>
  );
}

/** A part of a page with a title. `isFlush`: its content reaches the edges, as a table or `ul.rows`. */
export function Card({ title, side, children, className = "", isFlush = false }: CardParts): ReactNode {
  const id = useId();
  return (
    <section className={`card ${isFlush ? "flush" : ""} ${className}`} aria-labelledby={id}>
      <div className="row apart card-head">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {side}
      </div>
      {children}
    </section>
  );
}
type CardParts = { title: ReactNode; side?: ReactNode; children: ReactNode; className?: string; isFlush?: boolean };

/** If a focused button disappears, the heading of its replacement gets the focus. */
export function KeepFocus({ children }: { children: ReactNode }): ReactNode {
  const part = useRef<HTMLDivElement>(null);
  const focused = useRef<EventTarget>(null);
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent): void => {
      focused.current = target;
    };
    const own = part.current;
    own?.addEventListener("focusin", onFocus);
    return () => own?.removeEventListener("focusin", onFocus);
  }, []);
  useEffect(() => {
    const { current: last } = focused;
    if (!(last instanceof Element) || last.isConnected || document.activeElement !== document.body) return;
    focused.current = null;
    part.current?.querySelector("h2")?.focus();
  });
  return (
    <div ref={part} className="contents">
      {children}
    </div>
  );
}

export type Kind = "good" | "warn" | "bad" | "plain";

export function Note({ kind = "plain", children }: { kind?: Kind; children: ReactNode }): ReactNode {
  return (
    <div className={`note ${kind}`} role={kind === "bad" ? "alert" : undefined}>
      {children}
    </div>
  );
}

export function Badge({ kind = "plain", children }: { kind?: Kind; children: ReactNode }): ReactNode {
  return <span className={`badge ${kind}`}>{children}</span>;
}

/** One large number with its label. Several stand in a `div.stats`. */
export function Stat({ label, children, about }: StatParts): ReactNode {
  return (
    <div className="stack tight">
      <span className="label">{label}</span>
      <span className="figure">{children}</span>
      {about === undefined ? null : <span className="hint">{about}</span>}
    </div>
  );
}
type StatParts = { label: ReactNode; children: ReactNode; about?: ReactNode };

/**
 * An exact amount, never rounded. Digits below a cent are quiet, unless the amount is less than a cent.
 *
 * @param places The least number of decimals: `placesOf` for the amounts of a column.
 */
export function Amount({ nanoUsd, places }: { nanoUsd: number | bigint; places?: number | undefined }): ReactNode {
  const [cents, rest] = partsOfUsd(nanoUsd, places);
  return (
    <span className="amount">
      {cents}
      {rest === "" ? null : <span className="rest">{rest}</span>}
    </span>
  );
}

/** A name and its value, in a `dl.facts`. @param term The class of the name. @param children In place of `value`. */
export function Fact({ name, value, term, className, children = value }: FactParts): ReactNode {
  return (
    <>
      <dt className={term}>{name}</dt>
      <dd className={className}>{children}</dd>
    </>
  );
}
type FactParts = { name: ReactNode; value?: ReactNode; term?: string; className?: string; children?: ReactNode };

/** The place of something that is being read, in its final size. Appears after 150 ms. */
export function Skeleton({ height = 20, width }: { height?: number; width?: number }): ReactNode {
  return <span className="skeleton" style={{ height, ...(width === undefined ? {} : { width }) }} />;
}

export function Loading({ what, height = 96 }: { what: string; height?: number }): ReactNode {
  return (
    <div role="status">
      <span className="hidden">Loading the {what} …</span>
      <Skeleton height={height} />
    </div>
  );
}

/** Nothing is there: one sentence, and what to do about it. */
export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }): ReactNode {
  return (
    <div className="empty" role="status">
      <p>{children}</p>
      {action}
    </div>
  );
}

/** The data of a query, its loading state, or its error. */
export function Read<T>({ from, what, height = 96, children }: ReadParts<T>): ReactNode {
  if (from.data !== undefined) return children(from.data);
  if (from.error === null) return <Loading what={what} height={height} />;
  return <Failure error={from.error} again={() => void from.refetch()} />;
}
type ReadParts<T> = { from: UseQueryResult<T>; what: string; height?: number; children: (data: T) => ReactNode };

/** What went wrong, in words; nothing while `error` is null. */
export function Failure({ error, again }: { error: unknown; again?: () => void }): ReactNode {
  if (error === null) return null;
  return (
    <Note kind="bad">
      <p>{textOf(error)}</p>
      {again === undefined ? null : (
        <p>
          <Button text="Try again" className="little" act={again} />
        </p>
      )}
    </Note>
  );
}

/** An error in words for its reader. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * A button. Without `act` it submits its form.
 *
 * @param label What screen readers say, where the button shows an icon alone.
 * @param waits The text while its action runs, during which it is disabled; false: none runs.
 */
export function Button({ text, icon: Icon, label, act, waits = false, disabled, className, ...others }: ButtonParts) {
  return (
    <button
      {...others}
      type={act === undefined ? "submit" : "button"}
      className={className ?? (text === undefined ? "icon little" : undefined)}
      aria-label={label}
      disabled={disabled === true || waits !== false}
      onClick={act === undefined ? undefined : () => act()}
    >
      {Icon === undefined ? null : <Icon />}
      {waits === false ? text : waits}
    </button>
  );
}
/** A link to another page that looks like a button. */
export function ButtonLink({ text, icon: Icon, label, href, className = "" }: ButtonLinkParts): ReactNode {
  return (
    <Link className={`button ${className}`} href={href} aria-label={label}>
      {Icon === undefined ? null : <Icon />}
      {text}
    </Link>
  );
}
type ButtonLinkParts = { text?: string; icon?: LucideIcon; label?: string; href: string; className?: string };

type ButtonParts = Omit<ComponentProps<"button">, "type" | "onClick" | "children"> & {
  text?: ReactNode;
  icon?: LucideIcon;
  label?: string | undefined;
  act?: () => void;
  waits?: string | false;
};

/** @param isIcon Without its label, beside a value. */
export function CopyButton({ text, label = "Copy", isIcon = false }: CopyParts): ReactNode {
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    if (said === undefined) return;
    const timer = setTimeout(() => setSaid(undefined), 2_000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid("Copied"),
      () => setSaid("Select it and copy it"),
    );
  };
  return (
    <Button
      icon={said === "Copied" ? Check : Copy}
      text={isIcon ? undefined : <span aria-live="polite">{said ?? label}</span>}
      className={isIcon ? "icon little" : "plain little"}
      label={isIcon ? (said ?? label) : undefined}
      act={copy}
    />
  );
}

/** An address or a hash: its first and last digits, and a button that copies all of it. */
export function Hex({ text, label }: { text: string; label: string }): ReactNode {
  return (
    <span className="row tight">
      <span className="mono" title={text}>
        {shortHex(text)}
      </span>
      <CopyButton text={text} label={label} isIcon />
    </span>
  );
}

/** The used part of a whole, amber from 85 % on. The numbers are text beside it. */
export function Meter({ used, whole }: { used: number; whole: number }): ReactNode {
  const part = whole === 0 ? 0 : Math.min(1, used / whole);
  return (
    <div className={`meter ${part >= 1 ? "bad" : part > 0.85 ? "warn" : ""}`} aria-hidden="true">
      <div style={{ width: `${part * 100}%` }} />
    </div>
  );
}

type CopyParts = { text: string; label?: string; isIcon?: boolean };
