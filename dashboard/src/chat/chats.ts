import { createStore, del, entries, set } from "idb-keyval";
import { useEffect, useMemo, useRef, useState } from "react";

/** What an answer used, and its charge. */
export type Usage = { input: number; output: number; nanoUsd: number };

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
  usage: Usage | null;
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

const MOST_CHATS = 100;

/** What an account's chats are, in this browser alone. */
export type Chats = {
  /** The newest first; undefined: they are being read. */
  list: Chat[] | undefined;
  /** Why a chat could not be stored. */
  problem: string | null;
  /** @param isStored False: in memory only, as while an answer comes. */
  put(chat: Chat, isStored?: boolean): void;
  /** The newest state, also within a function that began before it. */
  read(id: string): Chat | undefined;
  remove(id: string): void;
};

export function useChats(owner: string): Chats {
  const [list, setList] = useState<Chat[]>();
  const [problem, setProblem] = useState<string | null>(null);
  const newest = useRef(new Map<string, Chat>());
  const prefix = `${owner.toLowerCase()}:`;
  const store = useMemo(() => createStore("chats", "chats"), []);
  useEffect(() => {
    let isGone = false;
    setList(undefined);
    entries<string, Chat>(store)
      .then((all) => {
        if (isGone) return;
        const own = all.filter(([name]) => name.startsWith(prefix)).map(([, chat]) => afterReload(chat));
        newest.current = new Map(own.map((chat) => [chat.id, chat]));
        setList(ordered(newest.current));
      })
      .catch(() => {
        if (isGone) return;
        setProblem("This browser does not store chats here. They last until you leave the page.");
        setList([]);
      });
    return () => {
      isGone = true;
    };
  }, [prefix, store]);
  return useMemo(
    () => ({
      list,
      problem,
      read: (id) => newest.current.get(id),
      put(chat, isStored = true) {
        const isNew = !newest.current.has(chat.id);
        newest.current.set(chat.id, chat);
        setList(ordered(newest.current));
        if (!isStored) return;
        if (isNew && newest.current.size > MOST_CHATS) {
          setProblem(
            `This browser keeps ${MOST_CHATS} chats. Delete one, or this chat is lost when you leave the page.`,
          );
          return;
        }
        set(prefix + chat.id, chat, store).then(
          () => setProblem(null),
          () =>
            setProblem("This browser's storage is full. Delete a chat, or this one is lost when you leave the page."),
        );
      },
      remove(id) {
        newest.current.delete(id);
        setList(ordered(newest.current));
        setProblem(null);
        del(prefix + id, store).catch(() => setProblem("The chat could not be deleted from this browser. Try again."));
      },
    }),
    [list, problem, prefix, store],
  );
}

function ordered(chats: ReadonlyMap<string, Chat>): Chat[] {
  return [...chats.values()].sort((one, other) => other.updatedAtMs - one.updatedAtMs);
}

/** An answer that was coming when the page was left has broken off. */
function afterReload(chat: Chat): Chat {
  const messages = chat.messages.map(
    (message): Message =>
      message.role === "assistant" && message.end === "streaming" ? { ...message, end: "broken" } : message,
  );
  return { ...chat, messages };
}

/** All answers that were paid, in the order of the chat, the replaced ones last. */
function answersOf({ messages, replaced }: Chat): Answer[] {
  return [...messages.flatMap((message) => (message.role === "assistant" ? [message] : [])), ...replaced];
}

/** The sums of a chat. `unknown`: the answers whose charge is not known yet. */
export function sumsOf(chat: Chat): Usage & { answers: number; unknown: number } {
  const answers = answersOf(chat).filter(({ receipt }) => receipt !== null);
  const sum = (of: (usage: Usage) => number) =>
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
