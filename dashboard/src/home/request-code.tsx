import type { ReactNode } from "react";
import { textModels, useModels } from "../gateway.ts";
import { codeOf } from "../models/request-code.ts";
import { Code, type CodeTab } from "../parts/code.tsx";

/** A chat request in every language, for this gateway. */
export function RequestCode({ foot }: { foot?: ReactNode }): ReactNode {
  const { first } = textModels(useModels().data);
  return <Code tabs={requestTabs(first?.id ?? "MODEL")} foot={foot} />;
}

/** @param key The key's text; absent: the environment's `INFERENCE_API_KEY`. */
export function requestTabs(model: string, key?: string): CodeTab[] {
  return codeOf({ type: "text", model, messages: [{ role: "user", content: "Name three rivers." }], key });
}
