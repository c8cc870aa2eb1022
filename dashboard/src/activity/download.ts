import { refusalOf } from "@inference/sdk/request";
import type { ActivityQuery } from "../account.ts";

/** All receipts of some days as one file. */
export async function downloadReceipts(token: string, asked: ActivityQuery, format: "csv" | "json"): Promise<void> {
  const parts: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const given = Object.entries({ ...asked, format, limit: "1000", cursor: cursor === "" ? undefined : cursor });
    const query = new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
    const response = await fetch(`/api/v1/activity?${query}`, { headers: { authorization: `Bearer ${token}` } });
    if (!response.ok) throw refusalOf(response.url, response, await response.text());
    if (format === "json") {
      const page = (await response.json()) as { data: object[]; next_cursor: string | null };
      parts.push(...page.data.map((receipt) => JSON.stringify(receipt)));
      cursor = page.next_cursor;
    } else {
      const text = await response.text();
      // Each page begins with the names of the columns.
      parts.push(parts.length === 0 ? text : text.slice(text.indexOf("\r\n") + 2));
      cursor = response.headers.get("x-next-cursor") || null;
    }
  }
  const name = `receipts ${asked.from} to ${asked.to}.${format}`;
  if (format === "csv") save(name, "text/csv", parts.join(""));
  else save(name, "application/json", `[\n${parts.join(",\n")}\n]\n`);
}

/** Gives the reader a file. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
