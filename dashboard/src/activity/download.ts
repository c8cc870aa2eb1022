import { RefusedError } from "@inference/sdk/errors";

/** All receipts of the last 30 days as one CSV file. */
export async function downloadReceipts(token: string): Promise<void> {
  const parts: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = new URLSearchParams({ format: "csv", limit: "1000", ...(cursor === "" ? {} : { cursor }) });
    const response = await fetch(`/api/v1/activity?${query}`, { headers: { authorization: `Bearer ${token}` } });
    if (!response.ok) throw new RefusedError(await response.json(), response);
    const text = await response.text();
    // Each page begins with the names of the columns.
    parts.push(parts.length === 0 ? text : text.slice(text.indexOf("\r\n") + 2));
    cursor = response.headers.get("x-next-cursor") || null;
  }
  save("receipts.csv", "text/csv", parts.join(""));
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
