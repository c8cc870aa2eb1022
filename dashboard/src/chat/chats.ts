import type { ChatUsage } from "@inference/sdk/chat-stream";
import { createStore, del, entries, set } from "idb-keyval";
import { useEffect, useMemo, useState } from "react";

export type Question = { role: "user"; id: string; text: string /** As `data:` URLs. */; images: string[] };
export type Answer = {
  role: "assistant";
  id: string;
  model: string;
  text: string;
  reasoning: string;
  /** The id of its receipt; null: no answer has begun. */
  receipt: string | null;
  /** Null: not known yet. The receipt says it. */
  usage: ChatUsage | null;
  firstTokenMs: number | null;
  /** `limit`: the output limit was reached. `broken`: the connection ended. */
  end: "streaming" | "complete" | "limit" | "stopped" | "broken";
};
export type Message = Question | Answer;

export type ChatSettings = {
  model: string;
  system: string /** Empty: the model's own. */;
  temperature: string;
  maxTokens: number;
};

export type Chat = ChatSettings & {
  id: string;
  title: string;
  updatedAtMs: number;
  messages: Message[];
  /** Answers that were replaced by another one or whose question was edited: they were paid. */
  replaced: Answer[];
};

export const MOST_CHATS = 100;

type Shown = {
  /** The newest first; undefined: they are being read. */
  list: Chat[] | undefined;
  /** Why a chat could not be stored. */
  problem: string | null;
};

/** An account's chats, in this browser alone. */
export type Chats = Shown & ChatBook;
type ChatBook = ReturnType<typeof chatBook>;

export function useChats(owner: string): Chats {
  const [shown, show] = useState<Shown>({ list: undefined, problem: null });
  const book = useMemo(() => chatBook(chatsOf(owner), show), [owner]);
  useEffect(() => void book.open(), [book]);
  return useMemo(() => ({ ...shown, ...book }), [shown, book]);
}

/** Where an account's chats are stored. */
export type ChatStorage = {
  read(): Promise<Chat[]>;
  keep(chat: Chat): Promise<void>;
  remove(id: string): Promise<void>;
};

function chatsOf(owner: string): ChatStorage {
  const store = createStore("chats", "chats");
  const prefix = `${owner.toLowerCase()}:`;
  return {
    async read() {
      const all = await entries<string, Chat>(store);
      return all.flatMap(([name, chat]) => (name.startsWith(prefix) ? [chat] : []));
    },
    keep: (chat) => set(prefix + chat.id, chat, store),
    remove: (id) => del(prefix + id, store),
  };
}

/** An account's chats in memory. Most of them are stored too. @param tell Shows each change. */
export function chatBook(storage: ChatStorage, tell: (shown: Shown) => void) {
  const newest = new Map<string, Chat>();
  const stored = new Set<string>();
  const removed = new Set<string>();
  let problem: string | null = null;
  const show = (next = problem): void => {
    problem = next;
    tell({ list: [...newest.values()].sort((one, other) => other.updatedAtMs - one.updatedAtMs), problem });
  };
  return {
    async open(): Promise<void> {
      try {
        for (const chat of await storage.read()) {
          stored.add(chat.id);
          if (!newest.has(chat.id)) newest.set(chat.id, afterReload(chat));
        }
        show();
      } catch {
        show("This browser does not store chats here. They last until you leave the page.");
      }
    },
    /** @param isStored False: in memory only, as while an answer comes. */
    put(chat: Chat, isStored = true): void {
      // An answer may still come to a deleted chat.
      if (removed.has(chat.id)) return;
      newest.set(chat.id, chat);
      const isFull = isStored && !stored.has(chat.id) && stored.size >= MOST_CHATS;
      show(
        isFull
          ? `This browser keeps ${MOST_CHATS} chats. Delete one, or this chat is lost when you leave the page.`
          : problem,
      );
      if (!isStored || isFull) return;
      stored.add(chat.id);
      storage.keep(chat).then(
        () => show(null),
        () => show("This browser's storage is full. Delete a chat, or this one is lost when you leave the page."),
      );
    },
    /** The newest state, also within a function that began before it. */
    read: (id: string): Chat | undefined => newest.get(id),
    remove(id: string): void {
      newest.delete(id);
      stored.delete(id);
      removed.add(id);
      show(null);
      storage.remove(id).catch(() => show("The chat could not be deleted from this browser. Try again."));
    },
  };
}

/** An answer that was coming when the page was left has broken off. */
function afterReload(chat: Chat): Chat {
  const messages = chat.messages.map(
    (message): Message =>
      message.role === "assistant" && message.end === "streaming" ? { ...message, end: "broken" } : message,
  );
  return { ...chat, messages };
}

/** An answer whose charge is in its receipt only, because it broke off or was stopped. */
export function findUncharged(chat: Chat): Answer | undefined {
  return answersOf(chat).find(({ receipt, usage, end }) => receipt !== null && usage === null && end !== "streaming");
}

/** The chat with the usage of one of its answers. */
export function withUsage(chat: Chat, answerId: string, usage: ChatUsage): Chat {
  const known = <M extends Message>(each: M): M => (each.id === answerId ? { ...each, usage } : each);
  return { ...chat, messages: chat.messages.map(known), replaced: chat.replaced.map(known) };
}

/** All answers that were paid, in the order of the chat, the replaced ones last. */
function answersOf({ messages, replaced }: Chat): Answer[] {
  return [...messages.flatMap((message) => (message.role === "assistant" ? [message] : [])), ...replaced];
}

/** The sums of a chat. `unknown`: the answers whose charge is not known yet. */
export function sumsOf(chat: Chat): ChatUsage & { answers: number; unknown: number } {
  const answers = answersOf(chat).filter(({ receipt }) => receipt !== null);
  const sum = (of: (usage: ChatUsage) => number) =>
    answers.reduce((all, { usage }) => all + (usage === null ? 0 : of(usage)), 0);
  return {
    answers: answers.length,
    unknown: answers.filter(({ usage }) => usage === null).length,
    input: sum(({ input }) => input),
    output: sum(({ output }) => output),
    nanoUsd: sum(({ nanoUsd }) => nanoUsd),
  };
}

/** A chat's title: the first words of its first question. */
export function titleOf(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return line === "" ? "Image" : line.length > 48 ? `${line.slice(0, 47).trimEnd()}…` : line;
}
