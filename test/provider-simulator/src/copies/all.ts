import { genericCopy } from "./generic.ts";
import { llamacppCopy } from "./llamacpp.ts";
import { ollamaCopy } from "./ollama.ts";
import { openaiCopy } from "./openai.ts";
import { openrouterCopy } from "./openrouter.ts";
import { veniceCopy } from "./venice.ts";
import { vllmCopy } from "./vllm.ts";

/** The copies, by the names of the gateway's profiles. */
export const providerCopies = {
  generic: genericCopy,
  venice: veniceCopy,
  openrouter: openrouterCopy,
  openai: openaiCopy,
  vllm: vllmCopy,
  ollama: ollamaCopy,
  llamacpp: llamacppCopy,
};
