import { otherTools, toolSetups } from "@inference/protocol/tool-setups";
import { html } from "hono/html";
import { apiInfo } from "./openapi.ts";
import { type DocumentedGateway, type Operation, operationGroups } from "./operation.ts";
import { codeBox, errorPart, type Html, operationPart, prose, tabs } from "./page-parts.ts";
import { exampleMessage, messageRules } from "./signed-message.ts";
import { type Snippet, snippets } from "./snippets.ts";
import { mintAndActivate, type WalletStep, walletSteps } from "./wallet-program.ts";

/** A page below `/docs`. The first one, at `/docs` itself, has the name "". */
export type DocsPage = {
  name: string;
  title: string;
  group: "Start" | "API";
  about: string;
  /** Its parts, for the menu: an id on the page, and a title. */
  parts: readonly (readonly [id: string, title: string])[];
  content(at: DocumentedGateway): Html | Html[];
};

/** All pages, in the order of the menu: each group of endpoints has one. */
export function docsPages(operations: readonly Operation[]): DocsPage[] {
  const references = operationGroups.map((group): DocsPage => {
    const own = operations.filter((operation) => operation.group === group);
    return {
      name: group.toLowerCase().replaceAll(" ", "-"),
      title: group,
      group: "API",
      about: "The endpoints of this group, with their fields, answers and errors.",
      parts: own.map(({ id, title }) => [id, title]),
      content: (at) => own.map((operation) => operationPart(operation, at)),
    };
  });
  return [FIRST, TOOLS, WALLET, ...references, ERRORS];
}

const FIRST: DocsPage = {
  name: "",
  title: "First request",
  group: "Start",
  about:
    "Any OpenAI client works with its base URL set to this gateway's. Put an API key into the environment as " +
    "`INFERENCE_API_KEY`. Models and their prices are at `/api/v1/models`.",
  parts: [],
  content: (at) => [
    html`<p class="facts">Base URL <code>${at.baseUrl}/api/v1</code> · version ${apiInfo.version}</p>
<div class="own-key" hidden>${codeBox("The key of this browser's chat", "export INFERENCE_API_KEY=", "key")}</div>`,
    tabs(
      "Language",
      LANGUAGES.map(([name, language]) => ({
        name,
        content: snippets(at)
          .filter((snippet) => snippet.language === language)
          .map(snippetPart),
      })),
    ),
  ],
};

/** The names are those of the dashboard's tabs: the choice in one place counts in the other. */
const LANGUAGES = [
  ["curl", "sh"],
  ["Python", "python"],
  ["TypeScript", "js"],
] as const;

function snippetPart({ title, install, code }: Snippet): Html {
  return html`${install !== null && html`<p class="install"><code>${install}</code></p>`}${codeBox(title, code)}`;
}

const TOOLS: DocsPage = {
  name: "tools",
  title: "Coding tools",
  group: "Start",
  about: "Codex, Claude Code and other tools work with this gateway. Each takes its base URL, a key and a model.",
  parts: [],
  content: (at) => [
    html`${at.coding.why !== null && html`<p>${prose(at.coding.why)}</p>`}`,
    tabs(
      "Tool",
      toolSetups({ ...at, ...at.coding }).map(({ title, about, code }) => ({
        name: title,
        content: html`<p>${prose(about)}</p>${codeBox(title, code, "setup")}`,
      })),
    ),
    html`<p>${prose(otherTools)}</p>`,
  ],
};

const WALLET: DocsPage = {
  name: "wallet",
  title: "From dollars to a key",
  group: "Start",
  about:
    "A wallet with dollars on any of the chains, and a little of that chain's coin for gas, needs nothing else. The " +
    "pieces below, in this order in one file such as `first-key.mjs`, are a program: " +
    "`PRIVATE_KEY=0x... CHAIN_ID=... node first-key.mjs` runs it.",
  parts: walletSteps({ baseUrl: "", model: "" }).map(({ id, title }) => [`wallet-${id}`, title]),
  content: (at) => [
    html`<p class="install"><code>npm install viem</code></p>`,
    ...walletSteps(at).map(
      (step) => html`${stepPart(step)}${step.id === "activate" && atOnce()}${step.id === "key" && rulesPart(at)}`,
    ),
  ],
};

function stepPart({ id, title, about, code }: WalletStep): Html {
  return html`<h2 class="step" id="wallet-${id}">${title}</h2><p>${prose(about)}</p>
${codeBox("first-key.mjs", code, "program")}`;
}

function atOnce(): Html {
  return html`<p>${prose("On the primary chain `mintAndActivate` does both in one transaction, for less gas:")}</p>
${codeBox("In place of both", mintAndActivate)}`;
}

function rulesPart(at: DocumentedGateway): Html {
  return html`<p>The message is accepted if all of this is so:</p>
<ul>${messageRules(at).map((rule) => html`<li>${prose(rule)}</li>`)}</ul>
<p>The exact text, which any wallet can sign (<code>personal_sign</code>); there is no line break at its end:</p>
${codeBox("The text to sign", exampleMessage(at))}`;
}

const ERRORS: DocsPage = {
  name: "errors",
  title: "Errors",
  group: "API",
  about:
    "Every error is OpenAI's object, `error`, with `message`, `type`, `param` and `code`, and `metadata` with numbers " +
    "where there are some. `x-should-retry` says whether trying again can help, `retry-after` after how many seconds. " +
    "Where that is more than 10, it says no, and `metadata.retry_after_s` has the seconds.",
  parts: [],
  content: errorPart,
};
