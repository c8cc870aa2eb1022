import { generic } from "./generic.ts";
import { llamacpp } from "./llamacpp.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import type { Profile } from "./profile.ts";
import { venice } from "./venice.ts";
import { vllm } from "./vllm.ts";

export const profiles = { generic, venice, openrouter, openai, vllm, ollama, llamacpp } satisfies Record<
  string,
  Profile
>;
export type ProfileName = keyof typeof profiles;
export const profileNames = Object.keys(profiles) as [ProfileName, ...ProfileName[]];
