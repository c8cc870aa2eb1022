import type { ReactNode } from "react";
import { encode } from "uqr";

/** A QR code, dark on white in both themes, as cameras expect it. */
export function QrCode({ text, label }: { text: string; label: string }): ReactNode {
  const { size, data } = encode(text, { border: 2 });
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <path d={dark.join("")} />
    </svg>
  );
}
