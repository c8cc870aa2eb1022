import { errorMeanings } from "@inference/protocol/error-meanings";
import { type ErrorCode, errorTable } from "@inference/protocol/errors";
import { otherTools, type ToolSetup, toolSetups } from "@inference/protocol/tool-setups";
import { html, raw } from "hono/html";
import { apiInfo, jsonSchema, parametersOf } from "./openapi.ts";
import { type DocumentedGateway, type Operation, operationGroups } from "./operation.ts";
import { style } from "./page-style.ts";
import { type Field, fieldsOf, typeText } from "./schema-text.ts";
import { exampleMessage, messageRules } from "./signed-message.ts";
import { type Snippet, snippets } from "./snippets.ts";
import { mintAndActivate, type WalletStep, walletSteps } from "./wallet-program.ts";

/** HTML in which all text is escaped. */
type Html = ReturnType<typeof html>;

/** A sentence in which backquotes mark code. */
export function prose(text: string): Html {
  const parts = text.split("`").map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`));
  return html`${parts}`;
}

/** /docs: the reference as one page without scripts and external requests. */
export function makePage(operations: readonly Operation[], at: DocumentedGateway): string {
  const { title, version, description } = apiInfo;
  const steps = walletSteps(at);
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: reference</title>
<style>${raw(style)}</style>
</head>
<body>
<nav aria-label="Contents">
<a class="home" href="#start">${title}</a>
<a href="#start">First request</a>
<a href="#tools">Coding tools</a>
<a href="#wallet">From dollars to a key</a><ul>${steps.map(stepLink)}</ul>
${operationGroups.map((group) => groupLinks(group, operations))}
<a href="#errors">Errors</a>
<p><a href="/openapi.json">OpenAPI 3.1</a> · <a href="/llms.txt">llms.txt</a></p>
</nav>
<main>
<header id="start"><h1>${title}</h1><p class="lead">${prose(description)}</p>
<p>Base URL <code>${at.baseUrl}/api/v1</code> · version ${version}</p></header>
<section><h2>First request</h2>
<p>${prose(FIRST)}</p>
${snippets(at).map(snippetPart)}
</section>
<section><h2 id="tools">Coding tools</h2>
${at.coding.why !== null && html`<p>${prose(at.coding.why)}</p>`}
${toolSetups({ ...at, ...at.coding }).map(setupPart)}
<p>${prose(otherTools)}</p>
</section>
<section><h2 id="wallet">From dollars to a key</h2>
<p>${prose(WALLET)}</p>
<p class="install"><code>npm install viem</code></p>
${steps.map((step) => [stepPart(step), step.id === "activate" && atOnce(), step.id === "key" && rulesPart(at)])}
</section>
${operationGroups.map((group) => [
  html`<section><h2 id="${anchor(group)}">${group}</h2>`,
  operations.filter((operation) => operation.group === group).map(operationPart),
  html`</section>`,
])}
<section><h2 id="errors">Errors</h2>
<p>${prose(ERRORS)}</p>
${errorPart()}
</section>
</main>
</body>
</html>
`);
}

const FIRST =
  "Any OpenAI client works with its base URL set to this gateway's. Put an API key into the environment as " +
  "`INFERENCE_API_KEY`. Models and their prices are at `/api/v1/models`.";
const ERRORS =
  "Every error is OpenAI's object, `error`, with `message`, `type`, `param` and `code`, and `metadata` with numbers " +
  "where there are some. `x-should-retry` says whether trying again can help, `retry-after` after how many seconds. " +
  "Where that is more than 10, it says no, and `metadata.retry_after_s` has the seconds.";

const WALLET =
  "A wallet with dollars on any of the chains, and a little of that chain's coin for gas, needs nothing else. The pieces " +
  "below, in this order in one file such as `first-key.mjs`, are a program: " +
  "`PRIVATE_KEY=0x... CHAIN_ID=... node first-key.mjs` runs it.";

function stepLink({ id, title }: WalletStep): Html {
  return html`<li><a class="step" href="#wallet-${id}">${title}</a></li>`;
}

function stepPart({ id, title, about, code }: WalletStep): Html {
  return html`<h3 class="step" id="wallet-${id}">${title}</h3><p>${prose(about)}</p>
<pre class="program"><code>${code}</code></pre>`;
}

function atOnce(): Html {
  return html`<p>${prose("On the primary chain `mintAndActivate` does both in one transaction, for less gas:")}</p>
<pre><code>${mintAndActivate}</code></pre>`;
}

function rulesPart(at: DocumentedGateway): Html {
  return html`<p>The message is accepted if all of this is so:</p>
<ul>${messageRules(at).map((rule) => html`<li>${prose(rule)}</li>`)}</ul>
<p>The exact text, which any wallet can sign (<code>personal_sign</code>); there is no line break at its end:</p>
<pre><code>${exampleMessage(at)}</code></pre>`;
}

function anchor(text: string): string {
  return text.toLowerCase().replaceAll(" ", "-");
}

function groupLinks(group: Operation["group"], operations: readonly Operation[]): Html {
  const links = operations
    .filter((operation) => operation.group === group)
    .map(({ id, method, path }) => html`<li><a href="#${id}">${verb(method)} ${path.replace("/api/v1", "")}</a></li>`);
  return html`<a href="#${anchor(group)}">${group}</a><ul>${links}</ul>`;
}

function verb(method: string): Html {
  return html`<span class="verb ${method.toLowerCase()}">${method}</span>`;
}

function snippetPart({ title, install, code }: Snippet, index: number): Html {
  const needs = install !== null && html`<p class="install"><code>${install}</code></p>`;
  return html`<details${index === 0 && " open"}><summary>${title}</summary>${needs}
<pre><code>${code}</code></pre></details>`;
}

function setupPart({ title, about, code }: ToolSetup): Html {
  return html`<details><summary>${title}</summary><p>${prose(about)}</p>
<pre class="setup"><code>${code}</code></pre></details>`;
}

function operationPart(operation: Operation): Html {
  const {
    id,
    method,
    path,
    title,
    about,
    credentials,
    body,
    bodyMediaTypes = ["application/json"],
    answers,
    errors,
  } = operation;
  const who = credentials.length === 0 ? "Anyone may ask." : `With ${credentials.join(" or ")}.`;
  const parameters = parametersOf(operation).map(({ schema, description = "", ...parameter }) => ({
    ...parameter,
    type: typeText(schema),
    about: String(description),
  }));
  return html`<article id="${id}">
<h3>${verb(method)} <code>${path}</code></h3>
<p><strong>${title}.</strong> ${prose(about ?? "")} <span class="who">${who}</span></p>
${fieldTable("Parameters", parameters)}
${body && fieldTable(`Body, ${bodyMediaTypes.join(" or ")}`, fieldsOf(jsonSchema(body.schema, "input")))}
${answers.map(({ status, about, content }) => [
  html`<h4>${status}</h4><p>${prose(about)} <span class="media">${Object.keys(content).join(", ")}</span></p>`,
  Object.values(content).map((named) => named && fieldTable(named.name, fieldsOf(jsonSchema(named.schema, "output")))),
])}
<p class="errors">${errors.map((code) => html`<a href="#error-${code}">${code}</a> `)}</p>
</article>`;
}

function fieldTable(caption: string, fields: readonly Field[]): Html {
  if (fields.length === 0) return html``;
  const rows = fields.map(
    ({ name, type, required, about }) => html`<tr><td><code>${name}</code>${!required && html`<i> optional</i>`}</td>
<td>${type}</td><td>${prose(about)}</td></tr>`,
  );
  return html`<details><summary>${caption}</summary><table><tbody>${rows}</tbody></table></details>`;
}

function errorPart(): Html {
  const rows = Object.entries(errorTable).map(
    ([code, { status, type, retry }]) =>
      html`<tr id="error-${code}"><td>${status}</td><td><code>${code}</code><br><i>${type}</i></td>
<td>${prose(errorMeanings[code as ErrorCode])}</td><td>${retry ? "yes" : "no"}</td></tr>`,
  );
  return html`<table class="codes"><thead><tr><th>Status</th><th>Code and type</th><th>Meaning, and what to do</th>
<th>Retry</th></tr></thead><tbody>${rows}</tbody></table>`;
}
