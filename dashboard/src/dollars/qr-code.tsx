import type { ReactNode } from "react";
import { encode } from "uqr";
import { CopyButton } from "../parts.tsx";

/** An address as a QR code and as a text to copy. @param more Below the text. */
export function QrAddress({ text, label, children, more }: QrAddressParts): ReactNode {
  return (
    <div className="phone">
      <QrCode text={text} label={`${label} ${text}`} />
      <div className="stack tight">
        <p>{children}</p>
        <p className="row">
          <span className="mono">{text}</span>
          <CopyButton text={text} label="Copy the address" isIcon />
        </p>
        {more}
      </div>
    </div>
  );
}
type QrAddressParts = { text: string; label: string; children: ReactNode; more?: ReactNode };

/** Dark on white in both themes, as cameras expect it. */
function QrCode({ text, label }: { text: string; label: string }): ReactNode {
  const { size, data } = encode(text, { border: 2 });
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <path d={dark.join("")} />
    </svg>
  );
}
