export * from "./activate.ts";
export {
  type AgentAddresses,
  type AgentBooks,
  agentsMadeBy,
  createAgent,
  createdAgent,
  readAgent,
  readAgentName,
  setComputer,
  setReserve,
} from "./agents.ts";
export { type ArrivalOptions, untilArrived } from "./arrival.ts";
export * from "./auto-top-up.ts";
export * from "./backing.ts";
export { chainClients } from "./chain-clients.ts";
export { type Client, createClient } from "./client.ts";
export {
  type Account,
  type ChainOptions,
  type Connection,
  type ConnectionOptions,
  connect,
  type WalletAccount,
} from "./connection.ts";
export { type Directory, type DirectoryChain, readDirectory } from "./directory.ts";
export * from "./dollar-limits.ts";
export { ClientError, type ClientErrorCode, ContractError, RefusedError } from "./errors.ts";
export { type Holdings, readHoldings } from "./holdings.ts";
export * from "./keys.ts";
export { type BuyOptions, buy, hasMarket, type MarketQuote, marketLimit, quoteMarket } from "./market.ts";
export * from "./mint.ts";
export * from "./models.ts";
export { type OfferSigner, type OfferState, putOffer, readOffer } from "./offers.ts";
export {
  type BegunTransaction,
  giveUp,
  isBurned,
  isOver,
  type Payment,
  type PaymentOptions,
  phaseOf,
  phases,
  runPayment,
} from "./payment.ts";
export type { AskedTransaction, OnProgress, Progress, Step } from "./progress.ts";
export { keepingReceipts, receiptsOf } from "./receipts-kept.ts";
export { resume } from "./resume.ts";
export { MAX_COST_WEI, type SendOptions, type SignedTransaction } from "./send.ts";
export { signIn } from "./session.ts";
export { createSignedKey } from "./signed-key.ts";
export * from "./spending.ts";
export * from "./top-up.ts";
export { collectBill } from "./verify/collect.ts";
export { askChain } from "./verify/collect-chain.ts";
export type { Evidence, Period, RequestLog } from "./verify/evidence.ts";
export { type Check, type JudgeOptions, judge, notProven, type Verdict } from "./verify/judge.ts";
export { quoteTokens } from "./verify/usage-cost.ts";
export { type VerifyOptions, verify } from "./verify/verify.ts";
export * from "./webhooks.ts";
