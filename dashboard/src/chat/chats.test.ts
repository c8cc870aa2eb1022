import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { type Chat, chatBook, MOST_CHATS } from "./chats.ts";

const chat = (id: number): Chat => ({
  ...{ model: "m", system: "", temperature: "", maxTokens: 1 },
  ...{ id: `chat ${id}`, title: "", updatedAtMs: id, messages: [], replaced: [] },
});

test("the browser stores at most 100 chats, and says which one it does not store", () => {
  const kept = new Set<string>();
  let problem: string | null = null;
  const book = chatBook(
    {
      read: async () => [],
      keep: async ({ id }) => void kept.add(id),
      remove: async (id) => void kept.delete(id),
    },
    (shown) => ({ problem } = shown),
  );
  // An answer that comes shows its chat before the chat is stored.
  const ask = (id: number): void => [false, true].forEach((isStored) => void book.put(chat(id), isStored));
  for (let id = 1; id <= MOST_CHATS; id++) ask(id);
  equal(problem, null);
  ask(0);
  match(problem ?? "", /^This browser keeps 100 chats/);
  deepEqual([kept.size, kept.has("chat 0")], [MOST_CHATS, false]);
  book.remove("chat 1");
  ask(0);
  deepEqual([problem, kept.has("chat 0")], [null, true]);
});
