import { element } from "./element.ts";

/** A part of the documentation: a heading and the text below it. */
export type Part = { path: string; page: string; title: string; text: string };

const MOST_FOUND = 12;

/** Parts with every word of the question. Those with the words in their title come first. */
export function find(parts: readonly Part[], question: string): Part[] {
  const words = question
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [];
  const inTitle = ({ title }: Part): number => words.filter((word) => title.toLowerCase().includes(word)).length;
  return parts
    .filter(({ page, title, text }) => {
      const all = `${page} ${title} ${text}`.toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .sort((one, other) => inTitle(other) - inTitle(one) || one.title.length - other.title.length)
    .slice(0, MOST_FOUND);
}

/** The dialog opens with the button, with `/`, and with Ctrl-K or Cmd-K. The pages are read when it first opens. */
export function startSearch(button: HTMLButtonElement): void {
  const name = "Search the documentation";
  const input = element("input", { type: "search", placeholder: name, ariaLabel: name });
  const list = element("ul", {});
  const state = element("p", { role: "status" });
  const dialog = element("dialog", { className: "commands", ariaLabel: name }, input, list, state);
  document.body.append(dialog);

  let parts: Promise<Part[]> | undefined;
  const show = async (): Promise<void> => {
    const question = input.value;
    state.textContent = parts === undefined ? "Reading the pages…" : state.textContent;
    parts ??= readPages();
    const found = find(await parts, question);
    if (input.value !== question) return;
    list.replaceChildren(...found.map(itemOf));
    state.textContent = question.trim() === "" ? "" : found.length === 0 ? "Nothing found" : `${found.length} found`;
  };
  const open = (): void => {
    if (dialog.open) return;
    dialog.showModal();
    void show();
  };
  button.addEventListener("click", open);
  input.addEventListener("input", show);
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || (target instanceof Element && target.closest("a") !== null)) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === "ArrowUp") (links[at - 1] ?? input).focus();
    else if (event.key === "Enter" && event.target === input) links[0]?.click();
    else return;
    event.preventDefault();
  });
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea") !== null;
    const isCommand = event.metaKey || event.ctrlKey;
    if (!(event.key === "k" && isCommand) && (event.key !== "/" || isTyping || isCommand)) return;
    event.preventDefault();
    open();
  });
  button.hidden = false;
}

function itemOf({ path, page, title }: Part): HTMLLIElement {
  return element("li", {}, element("a", { href: path }, title, element("span", { textContent: page })));
}

/** All pages that the menu names. A page that cannot be read is left out. */
async function readPages(): Promise<Part[]> {
  const paths = [...document.querySelectorAll<HTMLAnchorElement>(".pages a[href^='/docs']")].map(
    (link) => new URL(link.href).pathname,
  );
  const pages = await Promise.all(
    paths.map(async (path) => {
      const answer = await fetch(path).catch(() => undefined);
      return answer?.ok === true ? partsOf(path, await answer.text()) : [];
    }),
  );
  return pages.flat();
}

function partsOf(path: string, text: string): Part[] {
  const main = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const page = main?.querySelector("h1")?.textContent ?? "";
  const parts: Part[] = [];
  for (const element of main?.querySelectorAll("h1, h2, section > h3, tr[id], p, li, pre, summary") ?? []) {
    const { textContent } = element;
    const isHeading = /^H\d$/.test(element.tagName);
    const id = element.closest("[id]")?.id ?? "";
    const last = parts.at(-1);
    if (isHeading || element.tagName === "TR") {
      const title = isHeading ? textContent : (element.querySelector("code")?.textContent ?? "");
      const place = id === "" || element.tagName === "H1" ? path : `${path}#${id}`;
      parts.push({ path: place, page, title, text: isHeading ? "" : textContent });
    } else if (last !== undefined) last.text += ` ${textContent}`;
  }
  return parts;
}
