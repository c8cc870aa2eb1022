import { CALL_HALF_TOKENS, halfTokens } from "../../pricing/token-estimate.ts";
import { bytesOf, type ContentPiece, readContent } from "./choice-content.ts";

/** The UTF-8 bytes of content, and the estimate of their tokens in half tokens. */
export function measureContent(content: readonly ContentPiece[]): { bytes: number; halfTokens: number } {
  let bytes = 0;
  let halves = 0;
  for (const piece of content) {
    const own = bytesOf(piece);
    bytes += own;
    halves += halfTokensOf(piece, own);
  }
  return { bytes, halfTokens: halves };
}

/** The estimate, in half tokens, of what `deliveredInChoice` counts in a choice's `message` or `delta`. */
export function halfTokensInChoice(message: unknown): number {
  return measureContent(readContent(message)).halfTokens;
}

/** Texts are estimated where models mostly write them; in every other place a byte is a token. */
function halfTokensOf(piece: ContentPiece, bytes: number): number {
  if (piece.kind === "media" || piece.kind === "other" || !piece.isEstimated) return 2 * bytes;
  if (piece.kind !== "call") return halfTokens(piece.text);
  return halfTokens(piece.text) + (piece.name === "" ? 0 : halfTokens(piece.name) + CALL_HALF_TOKENS);
}
