import { ownValue } from "@inference/protocol/own-value";
import type { CodeTab } from "../parts/code.tsx";

/** A request as the code of each language. */
type CodedRequest = {
  type: string;
  model: string;
  /** Of a chat: what is sent. Absent: one short message. */
  messages?: readonly { role: string; content: unknown }[] | undefined;
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  /** Absent: the environment's `INFERENCE_API_KEY`. */
  key?: string | undefined;
};

/** The same request in curl, Python, TypeScript and with `infer`, where it has a command. */
export function codeOf(request: CodedRequest): CodeTab[] {
  const { type } = request;
  if (type === "text") return chatCode(request);
  const [path, body] = ownValue(BODIES, type)?.(request.model) ?? ["/models", {}];
  const url = `${location.origin}/v1${path}`;
  if (type === "asr") return formCode(url, request);
  return [
    { name: "curl", text: curl(url, body, request.key, type === "tts" ? " \\\n  --output speech.mp3" : "") },
    {
      name: "Python",
      text: `import json, os, urllib.request

request = urllib.request.Request(
    "${url}",
    data=json.dumps(${indented(body, 4)}).encode(),
    headers={
        "Authorization": "Bearer " + ${pythonKey(request.key)},
        "Content-Type": "application/json",
    },
)
answer = urllib.request.urlopen(request).read()
${type === "tts" ? 'open("speech.mp3", "wb").write(answer)' : "print(answer.decode()[:500])"}`,
    },
    {
      name: "TypeScript",
      text: `const answer = await fetch("${url}", {
  method: "POST",
  headers: {
    authorization: \`Bearer \${${scriptKey(request.key)}}\`,
    "content-type": "application/json",
  },
  body: JSON.stringify(${script(body, 2)}),
});
console.log(answer.status, ${type === "tts" ? "(await answer.arrayBuffer()).byteLength" : "await answer.json()"});`,
    },
  ];
}

const BODIES: Readonly<Record<string, (model: string) => [string, object]>> = {
  embedding: (model) => ["/embeddings", { model, input: "A lighthouse by the sea" }],
  tts: (model) => ["/audio/speech", { model, input: "Good morning." }],
  asr: () => ["/audio/transcriptions", {}],
  image: (model) => ["/images/generations", { model, prompt: "A lighthouse by the sea" }],
  inpaint: (model) => ["/image/edit", { model, prompt: "Make the sky red", image: "BASE64_OF_YOUR_IMAGE" }],
  upscale: (model) => ["/image/upscale", { model, image: "BASE64_OF_YOUR_IMAGE" }],
};

function formCode(url: string, { model, key }: CodedRequest): CodeTab[] {
  return [
    {
      name: "curl",
      text: `curl ${url} \\
  -H "Authorization: Bearer ${shellKey(key)}" \\
  -F model=${model} \\
  -F file=@speech.wav`,
    },
    {
      name: "Python",
      text: `import os
from openai import OpenAI

client = OpenAI(
    base_url="${location.origin}/v1",
    api_key=${pythonKey(key)},
)
with open("speech.wav", "rb") as file:
    answer = client.audio.transcriptions.create(model="${model}", file=file)
print(answer.text)`,
    },
    {
      name: "TypeScript",
      text: `import OpenAI from "openai";\nimport { createReadStream } from "node:fs";

const client = new OpenAI({
  baseURL: "${location.origin}/v1",
  apiKey: ${scriptKey(key)},
});
const answer = await client.audio.transcriptions.create({
  model: "${model}",
  file: createReadStream("speech.wav"),
});
console.log(answer.text);`,
    },
  ];
}

const HELLO = [{ role: "user", content: "Hello" }];

function chatCode({ model, messages = HELLO, maxTokens = 500, temperature, key }: CodedRequest): CodeTab[] {
  const body = { model, messages, max_tokens: maxTokens, ...(temperature === undefined ? {} : { temperature }) };
  const { origin } = location;
  const fields = Object.entries(body);
  const last = messages.at(-1)?.content;
  return [
    { name: "curl", text: curl(`${origin}/v1/chat/completions`, { ...body, stream: true }, key, "", "-N ") },
    {
      name: "Python",
      text: `import os
from openai import OpenAI

client = OpenAI(
    base_url="${origin}/v1",
    api_key=${pythonKey(key)},
)
stream = client.chat.completions.create(
${fields.map(([name, value]) => `    ${name}=${indented(value, 4)},\n`).join("")}    stream=True,
)
for part in stream:
    text = part.choices[0].delta.content if part.choices else ""
    print(text or "", end="")`,
    },
    {
      name: "TypeScript",
      text: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${origin}/v1",
  apiKey: ${scriptKey(key)},
});
const stream = await client.chat.completions.create({
${fields.map(([name, value]) => `  ${name}: ${script(value, 2)},\n`).join("")}  stream: true,
});
for await (const part of stream) {
  process.stdout.write(part.choices[0]?.delta?.content ?? "");
}`,
    },
    {
      name: "infer",
      text: `infer login --gateway ${origin}
infer chat ${shellQuote(typeof last === "string" ? last : "Hello")} \\
  --model ${model} --max-tokens ${maxTokens}`,
    },
  ];
}

function curl(url: string, body: object, key: string | undefined, after: string, flags = ""): string {
  return `curl ${flags}${url} \\
  -H "Authorization: Bearer ${shellKey(key)}" \\
  -H "Content-Type: application/json" \\
  -d ${shellQuote(indented(body, 2))}${after}`;
}

const shellKey = (key: string | undefined): string => key ?? "$INFERENCE_API_KEY";
const pythonKey = (key: string | undefined): string =>
  key === undefined ? 'os.environ["INFERENCE_API_KEY"]' : `"${key}"`;
const scriptKey = (key: string | undefined): string =>
  key === undefined ? "process.env.INFERENCE_API_KEY" : `"${key}"`;

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** JSON with an indent. Python writes its strings, numbers and lists in the same way. */
function indented(value: unknown, spaces: number): string {
  return JSON.stringify(value, null, spaces).replaceAll("\n", `\n${" ".repeat(spaces)}`);
}

/** A value as TypeScript writes it, with plain names of fields. */
function script(value: unknown, spaces: number): string {
  return indented(value, spaces).replaceAll(/^(\s*)"([a-z_]+)":/gm, "$1$2:");
}
