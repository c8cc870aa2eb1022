import { tokenAt } from "@inference/provider-simulator/tokens";
import { halfTokens, tokensOf } from "../../src/pricing/token-estimate.ts";
import { tokenCorpus } from "./token-corpus.ts";
import { tokenizers } from "./tokenizers.ts";

/** A text, the tokens that a tokenizer counts in it, and the estimate of them. */
export type Measured = { kind: string; tokenizer: string; text: string; tokens: number; estimate: number };

/** Every text of the corpus with every tokenizer, and the simulator's answers with its own count. */
export function measureCorpus(): Measured[] {
  const measured: Measured[] = [];
  for (const [kind, texts] of tokenCorpus()) {
    for (const text of texts) {
      const estimate = tokensOf(halfTokens(text));
      for (const [tokenizer, count] of Object.entries(tokenizers)) {
        measured.push({ kind, tokenizer, text, tokens: count(text), estimate });
      }
    }
  }
  return [...measured, ...simulated()];
}

function simulated(): Measured[] {
  const places = (["noise", "english"] as const).flatMap((text) =>
    [0, 11, 22, 33, 44, 55].map((start) => ({ text, start, choice: 0 })),
  );
  return places.flatMap((place) =>
    [1, 5, 20, 70, 300].map((tokens) => {
      const text = Array.from({ length: tokens }, (_, index) => tokenAt(place, index)).join("");
      const estimate = tokensOf(halfTokens(text));
      return { kind: "the provider simulator", tokenizer: "its own", text, tokens, estimate };
    }),
  );
}

/** Shorter texts than this are left out of the figures: there, the four tokens that are added are most of it. */
const SHOWN_TOKENS = 20;

/** The ratio of the estimate to the tokens, by kind of text, as a table in Markdown. */
export function ratioTable(measured: readonly Measured[]): string {
  const kinds = [...new Set(measured.map(({ kind }) => kind))];
  const rows = kinds.map((kind) => {
    const ratios = ratiosOf(measured, (one) => one.kind === kind);
    const by = ["o200k", "Llama 3", "Claude"].map((name) =>
      shown(
        at(
          ratiosOf(measured, (one) => one.kind === kind && one.tokenizer === name),
          0.5,
        ),
      ),
    );
    return [kind, ...[0, 0.5, 0.95, 1].map((part) => shown(at(ratios, part))), ...by];
  });
  return markdown(["text", "least", "median", "p95", "most", "o200k", "Llama 3", "Claude"], rows);
}

/** The same by tokenizer, over all but random texts. */
export function tokenizerTable(measured: readonly Measured[]): string {
  const names = [...new Set(measured.map(({ tokenizer }) => tokenizer))];
  const rows = names.map((name) => {
    const ratios = ratiosOf(measured, ({ tokenizer, kind }) => tokenizer === name && !kind.startsWith("random"));
    return [name, ...[0, 0.5, 0.95, 1].map((part) => shown(at(ratios, part)))];
  });
  return markdown(["tokenizer", "least", "median", "p95", "most"], rows);
}

function ratiosOf(measured: readonly Measured[], isOf: (one: Measured) => boolean): number[] {
  return measured
    .filter((one) => one.tokens >= SHOWN_TOKENS && isOf(one))
    .map(({ estimate, tokens }) => estimate / tokens)
    .sort((a, b) => a - b);
}

const at = (sorted: readonly number[], part: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];

const shown = (ratio: number | undefined): string => (ratio === undefined ? "" : ratio.toFixed(2));

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|---|${"--:|".repeat(head.length - 1)}`, ...rows.map(line)].join("\n");
}

// To write the tables anew: node gateway/test/metering/token-ratios.ts
if (import.meta.main) {
  const measured = measureCorpus();
  console.log(`${tokenizerTable(measured)}\n\n${ratioTable(measured)}`);
}
