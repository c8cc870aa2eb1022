import type { ApiKey } from "@inference/sdk/keys";
import { request } from "@inference/sdk/request";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { gateway } from "../gateway.ts";
import { store, useStored } from "../stored.ts";

/**
 * The key with which the page asks. It stays in this browser's `localStorage`, so that a new tab needs no signature.
 * Whoever can run code in this browser at this address can spend up to the key's limit, until the key is disabled on
 * the page of keys.
 */
export type ChatKey = { key: string; id: string };

const nameOf = (address: string): string => `chat-key:${address.toLowerCase()}`;

export function useChatKey(address: string): ChatKey | null {
  const text = useStored(localStorage, nameOf(address));
  return useMemo(() => {
    try {
      return text === null ? null : (JSON.parse(text) as ChatKey);
    } catch {
      return null;
    }
  }, [text]);
}

/** @param kept Null: the browser forgets the key. */
export function keepChatKey(address: string, kept: ChatKey | null): void {
  store(localStorage, nameOf(address), kept === null ? null : JSON.stringify(kept));
}

/** The key's limits and their use. */
export function useOwnKey({ key, id }: ChatKey): UseQueryResult<Pick<ApiKey, "limits" | "name" | "disabled">> {
  return useQuery({
    queryKey: ["own", "chat-key", id],
    queryFn: async () => (await request<{ data: ApiKey }>(gateway, "/api/v1/key", { bearer: key })).data,
    refetchInterval: 30_000,
  });
}
