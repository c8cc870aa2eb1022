import { partsOfUsd } from "../format.ts";
import { classOf, TOKENS } from "../parts/tokens.ts";
import { keepTheme, nextTheme, readTheme } from "../theme-choice.ts";
import { element } from "./element.ts";
import { startSearch } from "./search.ts";

/** The documentation's pages are complete without this script. It adds tabs, copying, search and the theme. */
const all = <T extends Element = HTMLElement>(selector: string, within: ParentNode = document): T[] => [
  ...within.querySelectorAll<T>(selector),
];

fillInKey();
void showBalance();
for (const code of all("pre code")) colour(code);
for (const box of all(".code")) addCopy(box);
for (const [index, group] of all(".tabs").entries()) makeTabs(group, index);
for (const button of all<HTMLButtonElement>("button.theme")) startTheme(button);
for (const button of all<HTMLButtonElement>("button.search")) startSearch(button);
// On a small screen the menu is a row that scrolls.
document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

function colour(code: HTMLElement): void {
  const text = code.textContent;
  const parts: (string | Node)[] = [];
  let end = 0;
  for (const found of text.matchAll(TOKENS)) {
    const part = element("span", { className: classOf(found), textContent: found[0] });
    parts.push(text.slice(end, found.index), part);
    end = found.index + found[0].length;
  }
  code.replaceChildren(...parts, text.slice(end));
}

function addCopy(box: HTMLElement): void {
  const ariaLabel = `Copy: ${box.querySelector(".label")?.textContent ?? ""}`;
  const button = element("button", { type: "button", className: "little plain", textContent: "Copy", ariaLabel });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(box.querySelector("code")?.textContent ?? "");
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
  box.querySelector(".bar")?.append(button);
}

/** Tabs of the sections of a group. The choice is the dashboard's too: `chosen Language` in `localStorage`. */
function makeTabs(group: HTMLElement, index: number): void {
  const store = `chosen ${group.dataset.label}`;
  const panels = all("[data-tab]", group);
  const list = element("div", { role: "tablist", ariaLabel: group.dataset.label ?? "" });
  const buttons = panels.map((panel, place) => {
    const [id, textContent] = [`tab-${index}-${place}`, panel.dataset.tab ?? ""];
    const button = element("button", { type: "button", id, textContent, role: "tab" });
    button.addEventListener("click", () => choose(place));
    panel.id = `panel-${index}-${place}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    button.setAttribute("aria-controls", panel.id);
    return button;
  });
  const show = (chosen: number): void => {
    for (const [place, button] of buttons.entries()) {
      const isShown = place === chosen;
      button.setAttribute("aria-selected", String(isShown));
      button.dataset.state = isShown ? "active" : "inactive";
      button.tabIndex = isShown ? 0 : -1;
      panels[place]?.toggleAttribute("hidden", !isShown);
    }
  };
  const choose = (place: number): void => {
    localStorage.setItem(store, panels[place]?.dataset.tab ?? "");
    show(place);
  };
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const step = event.key === "ArrowRight" ? 1 : -1;
    const at = buttons.indexOf(event.target as HTMLButtonElement) + step;
    const next = (at + buttons.length) % buttons.length;
    choose(next);
    buttons[next]?.focus();
  });
  list.append(...buttons);
  group.prepend(list);
  group.classList.add("are-tabs");
  const kept = localStorage.getItem(store);
  const place = panels.findIndex(({ dataset }) => dataset.tab === kept);
  show(Math.max(0, place));
}

function startTheme(button: HTMLButtonElement): void {
  const name = (): void => {
    button.title = `Theme: ${readTheme()}`;
    button.setAttribute("aria-label", button.title);
  };
  button.addEventListener("click", () => {
    keepTheme(nextTheme(readTheme()));
    name();
  });
  name();
  button.hidden = false;
}

/** Shows the key of the dashboard's chat, if this browser has one. It never leaves the browser. */
function fillInKey(): void {
  const name = Object.keys(localStorage).find((each) => each.startsWith("chat-key:"));
  const box = document.querySelector<HTMLElement>(".own-key");
  if (name === undefined || box === null) return;
  try {
    const { key } = JSON.parse(localStorage.getItem(name) ?? "") as { key?: unknown };
    const code = box.querySelector("code");
    if (typeof key !== "string" || code === null) return;
    code.textContent += key;
    box.hidden = false;
  } catch {
    // A key that cannot be read is not shown.
  }
}

/** Shows the balance as the dashboard's header does, if this tab is signed in there. */
async function showBalance(): Promise<void> {
  const address = sessionStorage.getItem("session-address") ?? "";
  const token = sessionStorage.getItem(`session:${address.toLowerCase()}`);
  const balance = document.querySelector<HTMLElement>(".balance");
  const button = document.querySelector<HTMLAnchorElement>(".top .end .button");
  if (token === null || balance === null || button === null) return;
  const answer = await fetch("/api/v1/credits", { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok) return;
  const { data } = (await answer.json()) as { data: { available_nano_usd: number } };
  const [cents, below] = partsOfUsd(data.available_nano_usd);
  const rest = element("span", { className: "rest", textContent: below });
  balance.querySelector(".amount")?.append(cents, rest);
  balance.hidden = false;
  button.textContent = "Add funds";
  button.href = "/funds";
}
