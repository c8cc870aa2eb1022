import { codingModel } from "@inference/protocol/coding-model";
import type { reconciliationsAnswer } from "@inference/protocol/wire/settlement";
import type { Status } from "@inference/sdk/activate";
import { connect } from "@inference/sdk/connection";
import type { Directory, DirectoryChain } from "@inference/sdk/directory";
import type { Model } from "@inference/sdk/models";
import { keepingReceipts } from "@inference/sdk/receipts-kept";
import { request } from "@inference/sdk/request";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type * as z from "zod";
import { followClock } from "./clock.ts";
import { keepReceipt } from "./verify/receipt-log.ts";

/** This page's gateway, without an account. Signed receipts go to the browser's log. */
export const gateway = connect({ gateway: location.origin, fetch: keepingReceipts(keepReceipt) });

export type { Directory, DirectoryChain as Chain, Model, Status };

type Reconciliations = z.infer<typeof reconciliationsAnswer>;

export const useModels = (): UseQueryResult<Model[]> => useData("/api/v1/models", 300_000);
export const useDirectory = (): UseQueryResult<Directory> => useData("/api/v1/contracts");

/** The text models, and the one of examples: it can run tools, or is the first. */
export function textModels(models: readonly Model[] = []): { texts: Model[]; first: Model | undefined } {
  const texts = models.filter(({ type }) => type === "text");
  return { texts, first: codingModel(texts) ?? texts[0] };
}

export function useStatus(): UseQueryResult<Status> {
  return useData<Status>("/api/v1/status", 15_000, ({ time }) => followClock(time));
}

export function useReconciliations(): UseQueryResult<Reconciliations> {
  const read = () => request<Reconciliations>(gateway, "/api/v1/reconciliations", { query: { limit: 14 } });
  return useQuery({ queryKey: ["reconciliations"], queryFn: read, refetchInterval: 60_000 });
}

/** The `data` of a public answer. @param everyMs The interval of repeated reads; absent: none. */
function useData<T>(path: string, everyMs?: number, seen?: (data: T) => void): UseQueryResult<T> {
  const read = async () => {
    const { data } = await request<{ data: T }>(gateway, path);
    seen?.(data);
    return data;
  };
  return useQuery({ queryKey: [path], queryFn: read, refetchInterval: everyMs ?? false });
}

/** A chain's name for people. */
export function chainName({ chain_id: id, name }: Pick<DirectoryChain, "chain_id" | "name">): string {
  if (name === null) return `Chain ${id}`;
  const spaced = name.replace(/([a-z])(\d)/g, "$1 $2");
  return spaced.slice(0, 1).toUpperCase() + spaced.slice(1);
}

/** The name of the chain with this id. */
export function chainNameIn(directory: Directory | undefined, id: number): string {
  return chainName(directory?.chains.find((each) => each.chain_id === id) ?? { chain_id: id, name: null });
}

/** The symbol of the chain's dollar. */
export function dollarName({ stablecoin }: DirectoryChain): string {
  return stablecoin?.symbol ?? "dollars";
}

/** The coins that pay for gas, by chain id. */
const COINS: Readonly<Record<number, string>> = {
  1: "ETH",
  10: "ETH",
  56: "BNB",
  100: "xDAI",
  130: "ETH",
  137: "POL",
  8453: "ETH",
  42161: "ETH",
  43114: "AVAX",
};

/** The coin that pays for gas on a chain. */
export function coinName({ chain_id: id }: DirectoryChain): string {
  return COINS[id] ?? "of the chain's coin";
}
