import { type ChatUsage, streamChat } from "@inference/sdk/chat-stream";
import { request } from "@inference/sdk/request";
import type { Receipt } from "@inference/sdk/spending";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { gateway } from "../gateway.ts";
import type { ChatKey } from "./chat-key.ts";
import { type Answer, type Chat, type Chats, findUncharged, type Question, withUsage } from "./chats.ts";
import { bodyOf } from "./request.ts";

/** What the composer gets back when a request was refused. */
export type Draft = { text: string; images: string[] };

export type Asking = {
  /** The chat whose answer is coming. */
  running: string | null;
  /** Why the last request was refused. */
  refusal: unknown;
  clearRefusal(): void;
  /**
   * Asks for the answer to a chat that ends with a question. If the gateway refuses, the chat is as it was before, and
   * the result is false.
   */
  ask(chat: Chat, before: Chat | undefined): Promise<boolean>;
  stop(): void;
};

/** Milliseconds between two pictures of a coming answer. */
const SHOW_EVERY_MS = 60;

export function useAsking(chats: Chats, key: ChatKey | null): Asking {
  const [running, setRunning] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<unknown>(null);
  const abort = useRef<AbortController>(null);
  const queries = useQueryClient();
  useEffect(() => () => abort.current?.abort(), []);
  const ask = async (chat: Chat, before: Chat | undefined): Promise<boolean> => {
    if (key === null || running !== null) return false;
    const own = new AbortController();
    abort.current = own;
    setRunning(chat.id);
    setRefusal(null);
    const body = bodyOf(chat, chat.messages);
    let answer: Answer = {
      ...{ role: "assistant", id: crypto.randomUUID(), model: chat.model, text: "", reasoning: "" },
      ...{ receipt: null, usage: null, firstTokenMs: null, end: "streaming" },
    };
    const show = (isStored: boolean): void => {
      const now = isStored ? Date.now() : chat.updatedAtMs;
      chats.put({ ...chat, updatedAtMs: now, messages: [...chat.messages, answer] }, isStored);
    };
    show(false);
    const startMs = performance.now();
    let shownMs = startMs;
    let isLimit = false;
    try {
      const asked = { apiKey: key.key, body, signal: own.signal };
      for await (const { receipt, text = "", reasoning = "", finish, usage } of streamChat(gateway, asked)) {
        if (receipt !== undefined) answer = { ...answer, receipt };
        const isFirst = answer.firstTokenMs === null && text + reasoning !== "";
        answer = {
          ...answer,
          text: answer.text + text,
          reasoning: answer.reasoning + reasoning,
          usage: usage ?? answer.usage,
          firstTokenMs: isFirst ? Math.round(performance.now() - startMs) : answer.firstTokenMs,
        };
        isLimit ||= finish === "length";
        if (receipt !== undefined) show(true);
        else if (performance.now() - shownMs > SHOW_EVERY_MS) {
          shownMs = performance.now();
          show(false);
        }
      }
      answer = { ...answer, end: isLimit ? "limit" : "complete" };
      show(true);
      return true;
    } catch (error) {
      if (answer.receipt === null && !own.signal.aborted) {
        // Nothing was answered, and nothing is charged.
        if (before === undefined) chats.remove(chat.id);
        else chats.put(before);
        setRefusal(error);
        return false;
      }
      answer = { ...answer, end: own.signal.aborted ? "stopped" : "broken" };
      show(true);
      return true;
    } finally {
      setRunning(null);
      void queries.invalidateQueries({ queryKey: ["own"] });
    }
  };
  return {
    running,
    refusal,
    clearRefusal: useCallback(() => setRefusal(null), []),
    ask,
    stop: useCallback(() => abort.current?.abort(), []),
  };
}

const ASK_AGAIN_MS = 1_000;
const MOST_READS = 120;

/** Reads the receipts of answers that broke off or were stopped, until all charges of the chat are known. */
export function useUnknownCharges(chats: Chats, chat: Chat | undefined, key: ChatKey | null): void {
  const queries = useQueryClient();
  const { put, read } = chats;
  const unknown = chat && findUncharged(chat);
  const { data: usage } = useQuery({
    queryKey: ["charge", unknown?.receipt],
    queryFn: () => usageByReceipt(unknown?.receipt ?? "", key?.key),
    enabled: Boolean(unknown?.receipt) && key !== null,
    retry: MOST_READS,
    retryDelay: ASK_AGAIN_MS,
  });
  const [chatId, answerId] = [chat?.id, unknown?.id];
  useEffect(() => {
    const now = chatId === undefined ? undefined : read(chatId);
    if (usage === undefined || answerId === undefined || now === undefined) return;
    put(withUsage(now, answerId, usage));
    void queries.invalidateQueries({ queryKey: ["own"] });
  }, [usage, chatId, answerId, put, read, queries]);
}

/** The usage by the receipt of an answer that did not say it. A request has a receipt as soon as it has ended. */
async function usageByReceipt(id: string, bearer: string | undefined): Promise<ChatUsage> {
  const { data } = await request<{ data: Receipt }>(gateway, "/api/v1/generation", { bearer, query: { id } });
  return { input: data.tokens_prompt ?? 0, output: data.tokens_completion ?? 0, nanoUsd: data.charge_nano_usd };
}

export function questionOf({ text, images }: Draft): Question {
  return { role: "user", id: crypto.randomUUID(), text, images };
}
