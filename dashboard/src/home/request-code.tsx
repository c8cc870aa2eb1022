import { codingModel } from "@inference/protocol/coding-model";
import type { ReactNode } from "react";
import { useModels } from "../gateway.ts";
import { codeOf } from "../models/request-code.ts";
import { Code, type CodeTab } from "../parts/code.tsx";

/** A chat request in every language, for this gateway. */
export function RequestCode({ foot }: { foot?: ReactNode }): ReactNode {
  return <Code tabs={requestTabs(useFirstModel()?.id ?? "MODEL")} foot={foot} />;
}

/** The model of examples: one that can run tools, else the first text model. */
function useFirstModel() {
  const texts = useModels().data?.filter(({ type }) => type === "text") ?? [];
  return codingModel(texts) ?? texts[0];
}

/** @param key The key's text; absent: the environment's `INFERENCE_API_KEY`. */
export function requestTabs(model: string, key?: string): CodeTab[] {
  return codeOf({ type: "text", model, messages: [{ role: "user", content: "Name three rivers." }], key });
}
