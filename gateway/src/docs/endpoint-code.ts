import { ownValue } from "@inference/protocol/own-value";
import { parametersOf } from "./openapi.ts";
import type { Credential, DocumentedGateway, Operation } from "./operation.ts";

/** A small valid body for each endpoint that takes one, by the operation's id. `MODEL` becomes a chat model's id. */
export const exampleBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = (() => {
  const messages = [{ role: "user", content: "Name three rivers." }];
  const chat = { model: "MODEL", messages, max_tokens: 200 };
  const image = { model: "IMAGE_MODEL", prompt: "A heron in the reeds" };
  const edit = { model: "EDIT_MODEL", prompt: "Make the sky red", image: "@photo.png" };
  const signed = { message: "THE_SIGNED_TEXT", signature: "0x" };
  const offer = { day: 0, nonce: 1, signature: `0x${"0".repeat(130)}` };
  const address = `0x${"0".repeat(40)}`;
  const terms = { owner: address, account: address, amount: "5000000", fee: "20000", feeTo: address, deadline: 0 };
  return {
    createTopUp: {
      chain_id: 8453,
      top_up: { ...terms, salt: `0x${"0".repeat(64)}` },
      signature: offer.signature,
    },
    createChatCompletion: chat,
    quoteChat: chat,
    createResponse: { model: "MODEL", input: "Name three rivers." },
    createMessage: chat,
    countTokens: { model: "MODEL", messages },
    createEmbeddings: { model: "EMBEDDING_MODEL", input: "A river" },
    createImage: image,
    generateImage: image,
    createImageEdit: edit,
    editImage: edit,
    upscaleImage: { image: "@photo.png" },
    createSpeech: { model: "SPEECH_MODEL", input: "The river is high this week." },
    createTranscription: { file: "@talk.wav", model: "TRANSCRIPTION_MODEL" },
    postMcp: { jsonrpc: "2.0", id: 1, method: "tools/list" },
    signIn: signed,
    createKey: signed,
    rollKey: signed,
    setKeyTerms: signed,
    changeKey: { limit: "2.00" },
    createWebhook: { url: "https://example.org/hook", events: ["credit.added"] },
    putOffer: { ...offer, share_bps: 5000 },
    deleteOffer: { ...offer, share_bps: 0 },
  };
})();

const VARIABLES: Readonly<Record<Credential, string>> = {
  "API key": "INFERENCE_API_KEY",
  session: "INFERENCE_SESSION",
  "operator's token": "METRICS_TOKEN",
};

type Call = {
  method: string;
  url: string;
  /** The environment's variable with the bearer token; undefined: the endpoint takes none. */
  variable: string | undefined;
  body: Readonly<Record<string, unknown>> | undefined;
  /** `form`: a field that begins with `@` is a file. */
  kind: "json" | "form";
  isJson: boolean;
};

/** One request of an endpoint in three languages, from its declaration. Python has no code for a form. */
export function endpointCode(
  operation: Operation,
  at: Pick<DocumentedGateway, "baseUrl" | "model">,
): { name: string; code: string }[] {
  const { method, credentials, id, bodyMediaTypes = ["application/json"], answers } = operation;
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
  const needed = parametersOf(operation).filter((each) => each.required && each.in === "query");
  const query = needed.map(({ name }) => `${name}=${name.toUpperCase()}`).join("&");
  const example = ownValue(exampleBodies, id);
  const [first] = credentials;
  const call: Call = {
    method,
    url: `${at.baseUrl}${path}${query === "" ? "" : `?${query}`}`,
    variable: first === undefined ? undefined : VARIABLES[first],
    body: example && { ...example, ...("model" in example && example.model === "MODEL" ? { model: at.model } : {}) },
    kind: bodyMediaTypes.includes("multipart/form-data") ? "form" : "json",
    isJson: answers.every(({ content }) => Object.keys(content)[0] === "application/json"),
  };
  return [
    { name: "curl", code: curl(call) },
    ...(call.kind === "form" && call.body !== undefined ? [] : [{ name: "Python", code: python(call) }]),
    { name: "TypeScript", code: typescript(call) },
  ];
}

function curl({ method, url, variable, body, kind, isJson }: Call): string {
  const quoted = /[?&]/.test(url) ? `"${url}"` : url;
  const implied = body === undefined ? "GET" : "POST";
  const text = (JSON.stringify(body, null, 2) ?? "").replaceAll("'", `'\\''`);
  return [
    `curl ${method === implied ? "" : `-X ${method} `}${quoted}`,
    ...(variable === undefined ? [] : [`-H "Authorization: Bearer $${variable}"`]),
    ...(body === undefined
      ? []
      : kind === "form"
        ? Object.entries(body).map(([name, value]) => `-F ${name}=${shellWord(String(value))}`)
        : ['-H "Content-Type: application/json"', `-d '${text}'`]),
    ...(isJson ? [] : ["-o answer"]),
  ].join(" \\\n  ");
}

const shellWord = (text: string): string => (/^[\w@./-]+$/.test(text) ? text : `"${text}"`);

function python({ method, url, variable, body, isJson }: Call): string {
  const literal = JSON.stringify(body, null, 4)
    ?.replace(/(?<=: )false(?=,?$)/gm, "False")
    .replaceAll("\n", "\n    ");
  const headers = [
    ...(variable === undefined ? [] : [`"Authorization": f"Bearer {os.environ['${variable}']}"`]),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const parts = [
    `"${url}"`,
    ...(method === "GET" ? [] : [`method="${method}"`]),
    ...(headers.length === 0 ? [] : [`headers={\n${headers.map((each) => `        ${each},\n`).join("")}    }`]),
    ...(body === undefined ? [] : [`data=json.dumps(${literal}).encode()`]),
  ];
  const imports = [
    ...(isJson || body !== undefined ? ["import json"] : []),
    ...(variable === undefined ? [] : ["import os"]),
    "from urllib.request import Request, urlopen",
  ];
  const show = isJson ? "print(json.load(answer))" : 'open("answer", "wb").write(answer.read())';
  return `${imports.join("\n")}

request = Request(
${parts.map((each) => `    ${each},\n`).join("")})
with urlopen(request) as answer:
    ${show}`;
}

/** Words of the printed code. This file itself uses none of them, which a test checks by its text. */
const [PROCESS, NODE, FETCH] = ["process", "node", "fetch"];

function typescript({ method, url, variable, body, kind, isJson }: Call): string {
  const isForm = kind === "form" && body !== undefined;
  const headers = [
    ...(variable === undefined ? [] : [`Authorization: \`Bearer \${${PROCESS}.env.${variable}}\``]),
    ...(body === undefined || isForm ? [] : ['"Content-Type": "application/json"']),
  ];
  const object = JSON.stringify(body, null, 2)
    ?.replace(/^( *)"(\w+)":/gm, "$1$2:")
    .replaceAll("\n", "\n  ");
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}"`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(", ")} }`]),
    ...(body === undefined ? [] : [isForm ? "body: form" : `body: JSON.stringify(${object})`]),
  ];
  const form = Object.entries(isForm ? body : {}).map(([name, value]) => {
    const text = String(value);
    const file = text.slice(1);
    return text.startsWith("@")
      ? `form.append("${name}", await openAsBlob("${file}"), "${file}");`
      : `form.append("${name}", ${JSON.stringify(text)});`;
  });
  const given = options.length === 0 ? "" : `, {\n${options.map((each) => `  ${each},\n`).join("")}}`;
  return [
    ...(isForm ? [`import { openAsBlob } from "${NODE}:fs";`, ""] : []),
    ...(isJson ? [] : [`import { writeFile } from "${NODE}:fs/promises";`, ""]),
    ...(isForm ? ["const form = new FormData();", ...form] : []),
    `const answer = await ${FETCH}("${url}"${given});`,
    isJson ? "console.log(await answer.json());" : 'await writeFile("answer", await answer.bytes());',
  ].join("\n");
}
