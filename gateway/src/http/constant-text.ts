import type { GatewayContext } from "./context.ts";

/** A text that many requests are answered with. */
export type ConstantText = { readonly text: string };

const compressed = new WeakMap<ConstantText, Uint8Array<ArrayBuffer>>();

/** Sends a text, in gzip to clients that accept it. A text is compressed once. */
export function sendConstant(
  context: GatewayContext,
  constant: ConstantText,
  headers: Record<string, string>,
): Response {
  const always = { ...headers, vary: "accept-encoding" };
  const { gzip } = context.get("gateway").environment;
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(context.req.header("accept-encoding") ?? "");
  if (gzip === undefined || !takesGzip) return context.body(constant.text, 200, always);
  const bytes = compressed.get(constant) ?? gzip(constant.text);
  compressed.set(constant, bytes);
  return context.body(bytes, 200, { ...always, "content-encoding": "gzip" });
}
