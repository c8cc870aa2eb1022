import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "../parts.tsx";

/** A window over the page, open while it is rendered. Escape, its button, and a click beside it close it. */
export function Dialog({ title, close, children, className = "" }: DialogParts): ReactNode {
  const id = useId();
  const own = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    own.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={own} className={className} aria-labelledby={id} onClose={close} {...{ closedby: "any" }}>
      <div className="row apart">
        <h2 id={id}>{title}</h2>
        <Button icon={X} label="Close" act={close} />
      </div>
      {children}
    </dialog>
  );
}
type DialogParts = { title: ReactNode; close: () => void; children: ReactNode; className?: string };
