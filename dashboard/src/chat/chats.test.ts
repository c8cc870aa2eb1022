import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { type Answer, type Chat, chatBook, findUncharged, MOST_CHATS, withUsage } from "./chats.ts";

const chat = (id: number): Chat => ({
  ...{ model: "m", system: "", temperature: "", maxTokens: 1 },
  ...{ id: `chat ${id}`, title: "", updatedAtMs: id, messages: [], replaced: [] },
});

/** A book over a storage that can be read. */
function openBook() {
  const kept = new Set<string>();
  const state: { problem: string | null } = { problem: null };
  const storage = {
    read: async () => [],
    keep: async ({ id }: Chat) => void kept.add(id),
    remove: async (id: string) => void kept.delete(id),
  };
  return { kept, state, book: chatBook(storage, ({ problem }) => Object.assign(state, { problem })) };
}

test("the browser stores at most 100 chats, and says which one it does not store", () => {
  const { kept, state, book } = openBook();
  // An answer that comes shows its chat before the chat is stored.
  const ask = (id: number): void => [false, true].forEach((isStored) => void book.put(chat(id), isStored));
  for (let id = 1; id <= MOST_CHATS; id++) ask(id);
  equal(state.problem, null);
  ask(0);
  match(state.problem ?? "", /^This browser keeps 100 chats/);
  deepEqual([kept.size, kept.has("chat 0")], [MOST_CHATS, false]);
  book.remove("chat 1");
  ask(0);
  deepEqual([state.problem, kept.has("chat 0")], [null, true]);
});

test("a chat that is deleted while its answer comes stays deleted", () => {
  const { kept, book } = openBook();
  book.put(chat(1));
  book.remove("chat 1");
  // The end of the stopped answer.
  book.put(chat(1));
  deepEqual([kept.size, book.read("chat 1")], [0, undefined]);
});

test("the charge of a stopped answer is read also if another answer has replaced it", () => {
  const stopped: Answer = {
    ...{ role: "assistant", id: "a", model: "m", text: "", reasoning: "", receipt: "r" },
    ...{ usage: null, firstTokenMs: null, end: "stopped" },
  };
  const waiting = { ...chat(1), replaced: [stopped] };
  equal(findUncharged(waiting)?.id, "a");
  const usage = { input: 1, output: 2, nanoUsd: 3 };
  deepEqual(withUsage(waiting, "a", usage).replaced, [{ ...stopped, usage }]);
  equal(findUncharged(withUsage(waiting, "a", usage)), undefined);
});
