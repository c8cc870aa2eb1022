/** The first request with each client, to copy and run. Tests run every snippet whose packages npm installs. */
export type Snippet = {
  id: string;
  title: string;
  language: "sh" | "python" | "js";
  install: string | null;
  code: string;
};

/** @param at The gateway's URL, and a chat model. The key is in the environment, as `INFERENCE_API_KEY`. */
export function snippets({ baseUrl, model }: { baseUrl: string; model: string }): Snippet[] {
  const url = `${baseUrl}/api/v1`;
  return [
    {
      id: "curl",
      title: "curl",
      language: "sh",
      install: null,
      code: `curl ${url}/chat/completions \\
  -H "Authorization: Bearer $INFERENCE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "max_tokens": 50,
    "messages": [{ "role": "user", "content": "Hello" }]
  }'`,
    },
    {
      id: "openai-python",
      title: "OpenAI for Python",
      language: "python",
      install: "pip install openai",
      code: `import os

from openai import OpenAI

client = OpenAI(
    base_url="${url}",
    api_key=os.environ["INFERENCE_API_KEY"],
)

answer = client.chat.completions.create(
    model="${model}",
    max_tokens=50,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      id: "anthropic-python",
      title: "Anthropic for Python",
      language: "python",
      install: "pip install anthropic",
      code: `import os

from anthropic import Anthropic

client = Anthropic(
    base_url="${baseUrl}/api",
    api_key=os.environ["INFERENCE_API_KEY"],
)

message = client.messages.create(
    model="${model}",
    max_tokens=50,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
    },
    {
      id: "python",
      title: "Python without packages, streamed",
      language: "python",
      install: null,
      code: `import json
import os
import urllib.request

request = urllib.request.Request(
    "${url}/chat/completions",
    headers={
        "Authorization": "Bearer " + os.environ["INFERENCE_API_KEY"],
        "Content-Type": "application/json",
    },
    data=json.dumps({
        "model": "${model}",
        "max_tokens": 50,
        "stream": True,
        "messages": [{"role": "user", "content": "Hello"}],
    }).encode(),
)
with urllib.request.urlopen(request) as answer:
    for line in answer:
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        if "error" in event:
            raise SystemExit(event["error"]["message"])
        for choice in event["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)
print()`,
    },
    {
      id: "openai",
      title: "OpenAI for Node",
      language: "js",
      install: "npm install openai",
      code: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${url}",
  apiKey: process.env.INFERENCE_API_KEY,
});

const answer = await client.chat.completions.create({
  model: "${model}",
  max_tokens: 50,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);`,
    },
    {
      id: "ai-sdk",
      title: "Vercel AI SDK",
      language: "js",
      install: "npm install ai @ai-sdk/openai-compatible",
      code: `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const gateway = createOpenAICompatible({
  name: "gateway",
  baseURL: "${url}",
  apiKey: process.env.INFERENCE_API_KEY,
});

const { text } = await generateText({
  model: gateway("${model}"),
  prompt: "Hello",
  maxOutputTokens: 50,
});
console.log(text);`,
    },
    {
      id: "ai-sdk-openai",
      title: "Vercel AI SDK, its OpenAI provider",
      language: "js",
      install: "npm install ai @ai-sdk/openai",
      code: `import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const gateway = createOpenAI({
  baseURL: "${url}",
  apiKey: process.env.INFERENCE_API_KEY,
});

const { text } = await generateText({
  model: gateway.chat("${model}"),
  prompt: "Hello",
  maxOutputTokens: 50,
});
console.log(text);`,
    },
    {
      id: "openai-responses",
      title: "OpenAI for Node, its Responses client",
      language: "js",
      install: "npm install openai",
      code: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${url}",
  apiKey: process.env.INFERENCE_API_KEY,
});

const answer = await client.responses.create({
  model: "${model}",
  max_output_tokens: 50,
  store: false,
  input: "Hello",
});
console.log(answer.output_text);`,
    },
    {
      id: "agents",
      title: "OpenAI Agents SDK",
      language: "js",
      install: "npm install @openai/agents zod",
      code: `import { Agent, OpenAIProvider, Runner } from "@openai/agents";

const modelProvider = new OpenAIProvider({
  baseURL: "${url}",
  apiKey: process.env.INFERENCE_API_KEY,
});
// Traces would go to OpenAI.
const runner = new Runner({ modelProvider, tracingDisabled: true });
const agent = new Agent({
  name: "Greeter",
  model: "${model}",
  modelSettings: { maxTokens: 50, store: false },
});

const result = await runner.run(agent, "Hello");
console.log(result.finalOutput);`,
    },
    {
      id: "anthropic",
      title: "Anthropic for Node",
      language: "js",
      install: "npm install @anthropic-ai/sdk",
      code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${baseUrl}/api",
  apiKey: process.env.INFERENCE_API_KEY,
});

const message = await client.messages.create({
  model: "${model}",
  max_tokens: 50,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(message.content[0].text);`,
    },
    {
      id: "langchain",
      title: "LangChain for JavaScript",
      language: "js",
      install: "npm install @langchain/openai @langchain/core",
      code: `import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: "${model}",
  maxTokens: 50,
  apiKey: process.env.INFERENCE_API_KEY,
  configuration: { baseURL: "${url}" },
});

const answer = await model.invoke("Hello");
console.log(answer.content);`,
    },
    {
      id: "browser",
      title: "fetch in a browser, streamed",
      language: "js",
      install: null,
      code: `// A key in a page is everybody's who opens it: use one with a small limit.
async function chat(apiKey, content, onText) {
  const answer = await fetch("${url}/chat/completions", {
    method: "POST",
    headers: {
      authorization: \`Bearer \${apiKey}\`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      model: "${model}",
      max_tokens: 50,
      stream: true,
      messages: [{ role: "user", content }],
    }),
  });
  if (!answer.ok) throw new Error((await answer.json()).error.message);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
      const event = JSON.parse(line.slice(6));
      if (event.error) throw new Error(event.error.message);
      onText(event.choices[0]?.delta.content ?? "");
    }
  }
}`,
    },
  ];
}
