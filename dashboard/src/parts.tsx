import { ownValue } from "@inference/protocol/own-value";
import { ClientError, ContractError, RefusedError } from "@inference/sdk/errors";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { leftUsd, shortUsd, usd, usedUsd } from "./format.ts";

export function Head({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="head">
      <h1>{title}</h1>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

/** A part of a page with a title. */
export function Card({ title, side, children, className = "" }: CardParts): ReactNode {
  const id = useId();
  return (
    <section className={`card ${className}`} aria-labelledby={id}>
      <div className="row apart">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {side}
      </div>
      {children}
    </section>
  );
}
type CardParts = { title: string; side?: ReactNode; children: ReactNode; className?: string };

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

/** One large number with its label. */
export function Figure({ label, children, about }: { label: string; children: ReactNode; about?: ReactNode }) {
  return (
    <div className="stack tight">
      <span className="label">{label}</span>
      <span className="figure">{children}</span>
      {about === undefined ? null : <span className="small quiet">{about}</span>}
    </div>
  );
}

/**
 * A short amount with an exact tooltip. A remaining amount is rounded down and a used one up, so that both add up to
 * `leftOf`.
 */
export function Amount({ nano, leftOf, isExact = false, isLeft = false, isUsed = false }: AmountParts): ReactNode {
  const short = isUsed ? usedUsd : shortUsd;
  return (
    <span className="number" title={usd(nano)}>
      {isExact ? usd(nano) : isLeft || leftOf !== undefined ? leftUsd(nano, leftOf) : short(nano)}
    </span>
  );
}
type AmountParts = {
  nano: number | bigint;
  leftOf?: number | bigint | undefined;
  isExact?: boolean;
  isLeft?: boolean;
  isUsed?: boolean;
};

export function Loading({ what }: { what: string }): ReactNode {
  return (
    <p className="quiet" role="status">
      Loading the {what} …
    </p>
  );
}

/** The data of a query, its loading state, or its error. */
export function Read<T>({ from, what, children }: ReadParts<T>): ReactNode {
  if (from.data !== undefined) return children(from.data);
  if (from.error === null) return <Loading what={what} />;
  return <Failure error={from.error} again={() => void from.refetch()} />;
}
type ReadParts<T> = { from: UseQueryResult<T>; what: string; children: (data: T) => ReactNode };

export function Failure({ error, again }: { error: unknown; again?: () => void }): ReactNode {
  return (
    <Note kind="bad">
      <p>{textOf(error)}</p>
      {again === undefined ? null : (
        <p>
          <button type="button" className="little" onClick={again}>
            Try again
          </button>
        </p>
      )}
    </Note>
  );
}

/** An error in words for its reader. */
export function textOf(error: unknown): string {
  if (error instanceof ContractError && error.errorName !== null) {
    return ownValue(CONTRACT_ERRORS, error.errorName) ?? error.message;
  }
  if (error instanceof ClientError || error instanceof RefusedError || error instanceof Error) return error.message;
  return String(error);
}

const CONTRACT_ERRORS: Readonly<Record<string, string>> = {
  ERC20InsufficientBalance: "The wallet does not have that many dollars on this chain. Nothing was sent.",
  ERC20InsufficientAllowance: "The payment was not approved for this amount. Nothing was sent: try again.",
  ZeroAmount: "The amount is zero. Nothing was sent.",
};

/** A field with its label, explanation and error. */
export function Field({ label, about, error, children }: FieldParts): ReactNode {
  const id = useId();
  const [hint, wrong] = [`${id}-hint`, `${id}-wrong`];
  const described = [about === undefined ? "" : hint, error === undefined ? "" : wrong].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        "aria-invalid": error !== undefined,
        ...(described === "" ? {} : { "aria-describedby": described }),
      })}
      {about === undefined ? null : (
        <span id={hint} className="small quiet">
          {about}
        </span>
      )}
      {error === undefined ? null : (
        <span id={wrong} className="small badge bad">
          {error}
        </span>
      )}
    </div>
  );
}
type FieldParts = {
  label: string;
  about?: ReactNode;
  error?: string | undefined;
  children: (props: { id: string; "aria-invalid": boolean; "aria-describedby"?: string }) => ReactNode;
};

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): ReactNode {
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
    <button type="button" className="little" onClick={copy}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

/** Code with a button that copies it. */
export function Code({ text, label }: { text: string; label: string }): ReactNode {
  return (
    <div className="stack tight">
      <div className="row apart">
        <span className="label">{label}</span>
        <CopyButton text={text} />
      </div>
      <pre>
        <code>{text}</code>
      </pre>
    </div>
  );
}

/** The used part of a whole. The numbers are text beside it. */
export function Meter({ used, whole }: { used: number; whole: number }): ReactNode {
  const part = whole === 0 ? 0 : Math.min(1, used / whole);
  return (
    <div className={`meter ${part > 0.85 ? "warn" : ""}`} aria-hidden="true">
      <div style={{ width: `${part * 100}%` }} />
    </div>
  );
}
