/** HTML text that is safe to put into a page. */
export type Html = { readonly html: string };

type Part = string | number | Html | readonly Part[];

/** Builds HTML: what is put in is escaped, unless it is HTML already. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: texts.map((text, index) => text + (index < parts.length ? render(parts[index] ?? "") : "")).join("") };
}

function render(part: Part): string {
  if (typeof part === "object") return "html" in part ? part.html : part.map(render).join("");
  return String(part).replace(/[&<>"']/g, (letter) => escapes[letter] ?? letter);
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A sentence in which backquotes mark code. */
export function prose(text: string): Html {
  const parts = text.split("`").map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
  return html`${parts}`;
}
