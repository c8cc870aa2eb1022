import { getTokenizer } from "@anthropic-ai/tokenizer";
import { encode as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { encode as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { encode as p50k } from "gpt-tokenizer/encoding/p50k_base";
import { encode as r50k } from "gpt-tokenizer/encoding/r50k_base";
import llama2 from "llama-tokenizer-js";
import llama3 from "llama3-tokenizer-js";
import mistral from "mistral-tokenizer-js";

const plain = { disallowedSpecial: new Set<string>() };
const claude = getTokenizer();

/** Counts a text's tokens as an answer's would be counted: without marks of a beginning or an end. */
export const tokenizers: Record<string, (text: string) => number> = {
  o200k: (text) => o200k(text, plain).length,
  cl100k: (text) => cl100k(text, plain).length,
  p50k: (text) => p50k(text, plain).length,
  r50k: (text) => r50k(text, plain).length,
  "Llama 3": (text) => llama3.encode(text, { bos: false, eos: false }).length,
  "Llama 2": (text) => llama2.encode(text, false, true).length,
  Mistral: (text) => mistral.encode(text, false, true).length,
  Claude: (text) => claude.encode(text.normalize("NFKC"), "all").length,
};
