import { codingModel } from "@inference/protocol/coding-model";
import type { ReactNode } from "react";
import { useModels } from "../gateway.ts";
import { Code, type CodeTab } from "../parts/code.tsx";

/** A chat request in every language, for this gateway. */
export function RequestCode({ foot }: { foot?: ReactNode }): ReactNode {
  return <Code tabs={requestTabs(useFirstModel()?.id ?? "MODEL")} foot={foot} />;
}

/** The model of examples: one that can run tools, else the first text model. */
export function useFirstModel() {
  const texts = useModels().data?.filter(({ type }) => type === "text") ?? [];
  return codingModel(texts) ?? texts[0];
}

const QUESTION = "Name three rivers.";

/** @param key The key's text, or the shell's variable with it. */
export function requestTabs(model: string, key = "$INFERENCE_API_KEY"): CodeTab[] {
  const { origin } = location;
  const inCode = key.startsWith("$");
  return [
    {
      name: "curl",
      text: `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "max_tokens": 500,
    "messages": [
      { "role": "user", "content": "${QUESTION}" }
    ]
  }'`,
    },
    {
      name: "Python",
      text: `import os
from openai import OpenAI

client = OpenAI(
    base_url="${origin}/v1",
    api_key=${inCode ? `os.environ["${key.slice(1)}"]` : `"${key}"`},
)
answer = client.chat.completions.create(
    model="${model}",
    max_tokens=500,
    messages=[{"role": "user", "content": "${QUESTION}"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      name: "TypeScript",
      text: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${origin}/v1",
  apiKey: ${inCode ? `process.env.${key.slice(1)}` : `"${key}"`},
});
const answer = await client.chat.completions.create({
  model: "${model}",
  max_tokens: 500,
  messages: [{ role: "user", content: "${QUESTION}" }],
});
console.log(answer.choices[0].message.content);`,
    },
    { name: "infer", text: `infer login --gateway ${origin}\ninfer chat "${QUESTION}" --model ${model}` },
  ];
}
