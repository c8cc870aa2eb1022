import { ownValue } from "@inference/protocol/own-value";
import type { ReactNode } from "react";
import { count } from "../format.ts";
import type { Model } from "../gateway.ts";
import { Fact as FactRow } from "../parts.tsx";

/** A name and its value. */
export type Fact = readonly [name: string, value: ReactNode];

export function Facts({ facts }: { facts: readonly Fact[] }): ReactNode {
  return (
    <dl className="facts right">
      {facts.map(([name, value]) => (
        <FactRow key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

const ENDPOINTS: Readonly<Record<string, readonly string[]>> = {
  text: ["/v1/chat/completions", "/v1/responses", "/v1/messages"],
  embedding: ["/v1/embeddings"],
  tts: ["/v1/audio/speech"],
  asr: ["/v1/audio/transcriptions"],
  image: ["/v1/images/generations", "/v1/image/generate"],
  inpaint: ["/v1/images/edits", "/v1/image/edit"],
  upscale: ["/v1/image/upscale"],
};

/** The limits that the catalogue states. What it does not state is left out. */
export function limitFacts({ type, context_length: context, max_tokens: most, features }: Model): Fact[] {
  const { max_images: images, prompt_character_limit: characters } = features ?? {};
  const list = (name: string): string => {
    const values = features?.[name];
    return Array.isArray(values) ? values.join(", ") : "";
  };
  const facts: Fact[] = [
    [type === "embedding" ? "Longest input" : "Context", context === null ? "" : `${count(context)} tokens`],
    ["Max output", most === null ? "" : `${count(most)} tokens`],
    ["Images in a request", typeof images === "number" ? `at most ${count(images)}` : ""],
    ["Prompt", typeof characters === "number" ? `at most ${count(characters)} characters` : ""],
    ["Voices", list("voices")],
    ["Formats", list("formats")],
    ["Qualities", list("qualities")],
    ["Reasoning effort", list("reasoning_effort_options")],
    ["Endpoints", (ownValue(ENDPOINTS, type) ?? []).join(", ")],
  ];
  return facts.filter(([, value]) => value !== "");
}

const PRIVACY: Readonly<Record<string, string>> = {
  private: "Keeps nothing of a request",
  anonymized: "Passes requests on without your name",
};

/** What the provider states about privacy and the model's weights. */
export function privacyFacts({ features }: Model): Fact[] {
  const { privacy, region_restrictions: regions = [], quantization, removes_at: removal } = features ?? {};
  const isAttested = features?.supports_tee_attestation === true;
  return [
    ["Provider", privacy === undefined ? "Not stated" : (ownValue(PRIVACY, privacy) ?? privacy)],
    ["This service keeps", "Counts and charges"],
    ...(regions.length === 0 ? [] : ([["Not served in", regions.join(", ")]] as Fact[])),
    ["Quantization", quantization ?? "Not stated"],
    ...(isAttested ? ([["Hardware", "Attested by its enclave"]] as Fact[]) : []),
    ["Served until", removal === undefined ? "No end announced" : removal.slice(0, 10)],
  ];
}
