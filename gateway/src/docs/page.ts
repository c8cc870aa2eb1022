import { html, raw } from "hono/html";
import type { DashboardFiles } from "../environment.ts";
import type { DocumentedGateway } from "./operation.ts";
import { type Html, prose } from "./page-parts.ts";
import type { DocsPage } from "./pages.ts";

/** The frame of a page. A gateway without the dashboard's files serves it without style and without links to them. */
export type PageFrame = {
  service: { name: string; logoUrl: string | null };
  files: DashboardFiles["docs"] | undefined;
};

/** A page of /docs, in the dashboard's frame. It is complete without scripts. */
export function makePage(page: DocsPage, pages: readonly DocsPage[], at: DocumentedGateway, frame: PageFrame): string {
  const { files, service } = frame;
  const body = html`${contents(page, pages)}
<main id="content">
<p class="over">${page.group}</p><h1>${page.title}</h1>
<p class="lead">${prose(page.about)}</p>
${page.content(at)}
</main>`;
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}: ${service.name} documentation</title>
${files && head(files)}
</head>
<body>
<a class="skip" href="#content">To the content</a>
${files === undefined ? body : framed(body, frame, files)}
</body>
</html>
`);
}

/** The first script sets the chosen theme before anything is painted. */
function head({ theme, script, style, icon }: DashboardFiles["docs"]): Html {
  return html`<link rel="icon" href="/assets/${icon}" type="image/svg+xml">
<script src="/assets/${theme}"></script>
<link rel="stylesheet" href="/assets/${style}">
<script type="module" src="/assets/${script}"></script>`;
}

/** The dashboard's menu: a path, a title, and whether the bar of a small screen has it. */
const PLACES: readonly (readonly [name: string, title: string, isFirst?: boolean])[] = [
  ["", "Home", true],
  ["chat", "Chat", true],
  ["models", "Models"],
  ["keys", "Keys", true],
  ["activity", "Activity"],
  ["funds", "Funds", true],
  ["agents", "Agents"],
  ["verify", "Verify"],
  ["status", "Status"],
  ["settings", "Settings"],
  ["docs", "Docs", true],
];

function framed(body: Html, { service }: PageFrame, { menu }: DashboardFiles["docs"]): Html {
  const icon = (name: string): Html =>
    html`<svg class="lucide" aria-hidden="true"><use href="/assets/${menu}#${name}"/></svg>`;
  const brand = html`<a class="brand" href="/">${
    service.logoUrl === null ? icon("brand") : html`<img src="${service.logoUrl}" alt="">`
  }${service.name}</a>`;
  const link = ([name, title]: (typeof PLACES)[number]): Html =>
    html`<a href="/${name}"${name === "docs" && raw(' aria-current="true"')}>${icon(name || "home")}${title}</a>`;
  return html`<div class="frame">
<aside class="side" aria-label="Menu">${brand}
<nav aria-label="Pages"><ul class="places">${PLACES.map(
    (place) => html`<li${place[0] === "verify" && raw(' class="gap"')}>${link(place)}</li>`,
  )}</ul></nav></aside>
<div class="body">
<header class="top">${brand}
<button type="button" class="search" hidden>${icon("search")}<span>Search the documentation</span><kbd>/</kbd></button>
<div class="end"><a class="balance wide-only" href="/funds" hidden>Balance <span class="amount"></span></a><button type="button" class="icon theme" hidden>${icon("theme")}</button>
<a class="button" href="/keys">Get a key</a></div></header>
<div class="docs">${body}</div>
<footer class="links"><a href="/openapi.json">OpenAPI 3.1</a><a href="/llms.txt">For language models</a>
<a href="/skill.md">For agents</a></footer>
</div>
<nav class="bottom" aria-label="Main pages">${PLACES.filter(([, , isFirst]) => isFirst).map(link)}</nav>
</div>`;
}

/** Every page, and the parts of this one. */
function contents(current: DocsPage, pages: readonly DocsPage[]): Html {
  const groups = [...new Set(pages.map(({ group }) => group))];
  const item = (page: DocsPage): Html => {
    const isHere = page === current;
    const path = page.name === "" ? "/docs" : `/docs/${page.name}`;
    const parts = isHere && page.parts.map(([id, title]) => html`<li><a href="#${id}">${prose(title)}</a></li>`);
    return html`<li><a href="${path}"${isHere && raw(' aria-current="page"')}>${page.title}</a>${
      parts && parts.length > 0 && html`<ul>${parts}</ul>`
    }</li>`;
  };
  return html`<nav class="pages" aria-label="Documentation">${groups.map(
    (group) => html`<p>${group}</p><ul>${pages.filter((page) => page.group === group).map(item)}</ul>`,
  )}</nav>`;
}
