import { errorMeanings } from "@inference/protocol/error-meanings";
import { type ErrorCode, errorTable } from "@inference/protocol/errors";
import { html, raw } from "hono/html";
import { endpointCode } from "./endpoint-code.ts";
import { jsonSchema, parametersOf } from "./openapi.ts";
import type { DocumentedGateway, Operation } from "./operation.ts";
import { type Field, fieldsOf, typeText } from "./schema-text.ts";

/** HTML in which all text is escaped. */
export type Html = ReturnType<typeof html>;

/** A sentence in which backquotes mark code. */
export function prose(text: string): Html {
  const parts = text.split("`").map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`));
  return html`${parts}`;
}

/** Code in a box. The page's script adds a button that copies it. `kind` is a class for tests. */
export function codeBox(label: string, code: string, kind = "shown"): Html {
  return html`<div class="code"><div class="bar"><span class="label">${label}</span></div>
<pre class="${kind}" tabindex="0"><code>${code}</code></pre></div>`;
}

export type Tab = { name: string; content: Html | Html[] };

/** Parts one under the other. The page's script makes tabs of them, and keeps the choice under the label. */
export function tabs(label: string, all: readonly Tab[]): Html {
  return html`<div class="tabs" data-label="${label}">${all.map(
    ({ name, content }) => html`<section data-tab="${name}"><h3>${name}</h3>${content}</section>`,
  )}</div>`;
}

export function verb(method: string): Html {
  return html`<span class="verb ${method.toLowerCase()}">${method}</span>`;
}

/** An endpoint with its fields, its answers and the errors that it can give. */
export function operationPart(operation: Operation, at: DocumentedGateway): Html {
  const { id, method, path, title, about, credentials, body, answers, errors } = operation;
  const { bodyMediaTypes = ["application/json"] } = operation;
  const who = credentials.length === 0 ? "Anyone may ask." : `With ${credentials.join(" or ")}.`;
  const parameters = parametersOf(operation).map(({ schema, description = "", ...parameter }) => ({
    ...parameter,
    type: typeText(schema),
    about: String(description),
  }));
  return html`<article id="${id}">
<h2>${prose(title)}</h2>
<p>${verb(method)} <code>${path}</code></p>
<p>${prose(about ?? "")} <span class="who">${who}</span></p>
${tabs(
  "Language",
  endpointCode(operation, at).map(({ name, code }) => ({ name, content: codeBox(`${method} ${path}`, code) })),
)}
${fieldTable("Parameters", parameters, true)}
${body && fieldTable(`Body, ${bodyMediaTypes.join(" or ")}`, fieldsOf(jsonSchema(body.schema, "input")), true)}
${answers.map(({ status, about, content }) => [
  html`<h3>${status}</h3><p>${prose(about)} <span class="media">${Object.keys(content).join(", ")}</span></p>`,
  Object.values(content).map((named) => named && fieldTable(named.name, fieldsOf(jsonSchema(named.schema, "output")))),
])}
<p class="errors">Errors: ${errors.map((code) => html`<a href="/docs/errors#error-${code}">${code}</a> `)}</p>
</article>`;
}

function fieldTable(caption: string, fields: readonly Field[], isOpen = false): Html {
  if (fields.length === 0) return html``;
  const rows = fields.map(
    ({ name, type, required, about }) =>
      html`<li><code>${name}</code> <span class="type">${type}</span>${
        required && html` <span class="needed">required</span>`
      }${about !== "" && html`<p>${prose(about)}</p>`}</li>`,
  );
  return html`<details${isOpen && raw(" open")}><summary>${caption}</summary><ul class="params">${rows}</ul></details>`;
}

/** Every error code, with its status, its meaning and the remedy. */
export function errorPart(): Html {
  const rows = Object.entries(errorTable).map(
    ([code, { status, type, retry }]) =>
      html`<tr id="error-${code}"><td>${status}</td><td><code>${code}</code><br><span class="type">${type}</span></td>
<td>${prose(errorMeanings[code as ErrorCode])}</td><td>${retry ? "yes" : "no"}</td></tr>`,
  );
  return html`<table class="codes"><thead><tr><th>Status</th><th>Code and type</th><th>Meaning, and what to do</th>
<th>Retry</th></tr></thead><tbody>${rows}</tbody></table>`;
}
