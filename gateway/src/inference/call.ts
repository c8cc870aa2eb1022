import type { Claimed } from "@inference/ledger/claim";
import { LedgerUnavailable } from "@inference/ledger/client";
import type { Claim } from "@inference/ledger/commands";
import { sendHeard } from "@inference/ledger/hearing";
import { chainPartition, type Partition, partitionAddress } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { fail } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { OpenOffer } from "../agents/open-offers.ts";
import type { Spender } from "../auth/spender.ts";
import { UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import type { Turn } from "../load/fair-queue.ts";
import type { Delivered } from "../pricing/quote.ts";
import { type Funding, fundingOf, requireFunds } from "./admission/funding.ts";
import { type Held, takeHold } from "./admission/take-hold.ts";
import { CallTrace } from "./call-trace.ts";
import { type Conclusion, conclude, type Ended, type Ending, unsent, withoutCharge } from "./charge/conclusion.ts";
import { endCommand, holdDetail, receiptDetail, signReceipt } from "./charge/receipt.ts";
import { GivenUp, startDeadline } from "./deadline.ts";
import type { InferenceRequest, InferenceRoute } from "./request.ts";
import { nextModel } from "./requests/find-model.ts";
import { type Order, type WrittenOrder, withoutFallback } from "./requests/order.ts";

/**
 * One admitted request. It owns all that the request takes, and gives it back:
 *
 * | taken | by | given back by |
 * |---|---|---|
 * | its turn at the model, its hold, its place among the live requests | `admit` | `end` |
 * | its turn at the next model | `fallBack` | `end` |
 * | the body to send | `admit`, `fallBack` | `send` |
 * | its try at the breaker | `send` | `send` |
 * | its deadline | `admit` | `close` |
 *
 * The code that admits a call ends it, and closes it after the last read of the provider's answer.
 */
export class Call {
  readonly id: string;
  /** When the request arrived. Its windows, its lease and its deadline count from this time. */
  readonly at: number;
  readonly route: InferenceRoute;
  readonly tag: string | undefined;
  /** Changes, with the turn, when the next model is to serve the request. */
  order: Order;
  /** The spender whose capacity pays; null if an account's balance pays. */
  readonly spender: Spender | null;
  readonly clientGone: AbortSignal | null;
  /** The account's available balance after the hold, then after its end. Undefined: unknown, or a capacity pays. */
  availableNanoUsd: NanoUsd | undefined;
  /** Whether the answer's bytes are sent while they arrive, which may take until the lease ends. */
  isStreaming = false;
  turn: Turn;
  readonly trace: CallTrace;
  readonly #gateway: Gateway;
  readonly #ownKey: string;
  /** The agent that serves the request; null if it is served with the key of who pays. */
  #server: OpenOffer | null;
  readonly #owner: Partition;
  /** The partition of the chain that credits and debits accounts. */
  readonly #chain: Partition;
  /** Aborts the request to the provider. */
  #abort = new AbortController();
  readonly #deadline: { cancel(): void };
  #body: Uint8Array;
  readonly heldNanoUsd: NanoUsd;
  #upstreamId: string | null = null;
  #hasEnded = false;

  private constructor(
    gateway: Gateway,
    request: InferenceRequest,
    written: WrittenOrder,
    { spender, upstreamKey, server, availableNanoUsd, turn }: Funding & Held & { turn: Turn },
  ) {
    const { upstreamBody, limitChoice: _, ...order } = written;
    this.id = request.id;
    this.at = request.at;
    this.route = request.route;
    this.tag = request.tag;
    this.order = order;
    this.heldNanoUsd = order.hold.maxNanoUsd;
    this.spender = spender;
    this.availableNanoUsd = availableNanoUsd;
    this.#ownKey = upstreamKey;
    this.turn = turn;
    this.#server = server;
    this.#gateway = gateway;
    this.#owner = request.credential.partition;
    this.#chain = chainPartition(gateway.config.settlement.chainId);
    this.#body = upstreamBody;
    this.clientGone = request.clientGone;
    this.trace = new CallTrace(request.trace);
    this.#deadline = startDeadline(gateway, this);
  }

  /**
   * Admits a request when the provider has room for it, and takes its hold in every budget of its payer. An API key
   * spends its account's balance and never waits for a chain. An agent with an open offer may serve it. A session
   * spends its identity's capacity. The chain is asked for it before the request takes its turn, so that no turn is
   * lost. A request whose payer cannot pay does not wait for a turn, and a request that waits here holds nothing.
   *
   * Throws `GatewayError` if the request is refused. Returns the claim if another request has the same
   * `Idempotency-Key`. Both times it has given back what it took.
   */
  static async admit(
    gateway: Gateway,
    request: InferenceRequest,
    order: WrittenOrder,
    claim: Claim | null,
  ): Promise<Call | { claimed: Claimed }> {
    const { breaker, environment, answerMemory, live, queue } = gateway;
    const { partition } = request.credential;
    const model = order.model.id;
    answerMemory.admit(partition);
    breaker.check(model, partition, environment.clock.now());
    if (order.quote.bound?.audioMs !== undefined) gateway.longAudio.check(partition);
    const funding = await fundingOf(gateway, request);
    const asker = { model, account: partition, key: funding.upstreamKey };
    let turn = queue.tryEnter(asker);
    if (turn === null) {
      await requireFunds(gateway, request, order, funding);
      turn = await queue.enter(asker, request.clientGone);
    }
    let isAdmitted = false;
    try {
      const taken = await takeHold(gateway, request, order, { spender: funding.spender, claim });
      if ("claimed" in taken) return taken;
      isAdmitted = true;
      live.add(request.id);
      return new Call(gateway, request, order, { ...funding, ...taken, turn });
    } finally {
      if (!isAdmitted) turn.leave();
    }
  }

  /** The key at the provider that the request is sent with. */
  get upstreamKey(): string {
    return this.#server?.upstreamKey ?? this.#ownKey;
  }

  /** The offer of the agent that serves the request; null if none does. */
  get server(): OpenOffer | null {
    return this.#server;
  }

  /** The provider's id of the answer, once it is known. */
  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isAborted(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Why its answer was given up, for the client; null if its time was over, or if it was not given up. */
  get whyGivenUp(): string | null {
    const { reason } = this.#abort.signal;
    return reason instanceof GivenUp ? reason.message : null;
  }

  /**
   * Sends the request to the provider and reports the result to breaker and metrics. It can be sent once more after
   * `reassign`. Throws `UpstreamFailure`, and 503 while the provider fails for the model. The breaker is
   * asked again here, because the request may have waited for its turn.
   *
   * The breaker learns nothing from an agent's key: what fails with it is tried with the protocol's.
   */
  async send(): Promise<UpstreamResponse> {
    const { provider, metrics, environment } = this.#gateway;
    const { clock } = environment;
    // Not every transport says that nothing was sent.
    if (this.isAborted) throw new UpstreamFailure("not_sent", "the request was given up before");
    const { upstreamPath: path, upstreamType: type, stream, model } = this.order;
    const askedAt = clock.now();
    const breaker = this.#server === null ? this.#gateway.breaker : null;
    if (breaker === null) this.#gateway.breaker.check(model.id, this.#owner, askedAt);
    else breaker.admit(model.id, this.#owner, askedAt);
    try {
      const response = await this.trace.send({ path, model: model.id }, (trace) =>
        provider.infer({ path, body: this.#body, type, stream, trace }, this.upstreamKey, this.#abort.signal),
      );
      // The provider has it, and a stream may go on for minutes. A request whose agent's key failed is sent again.
      if (this.#server === null || response.status === 200) this.#body = new Uint8Array(0);
      if (response.status === 200) this.order = withoutFallback(this.order);
      metrics.upstreamAnswered(response.status, clock.now() - askedAt);
      if (isDown.has(response.status)) breaker?.failed(model.id, this.#owner, clock.now());
      else breaker?.succeeded(model.id);
      return response;
    } catch (error) {
      if (error instanceof UpstreamFailure) metrics.upstreamFailed(error.stage);
      // If we aborted the request ourselves, the error says nothing about the provider.
      if (error instanceof UpstreamFailure && !this.isAborted) {
        // A request that was not sent cannot be the cause. A sent request may have broken the connection.
        breaker?.failed(model.id, error.stage === "not_sent" ? null : this.#owner, clock.now());
      } else breaker?.gaveUp(model.id, askedAt);
      throw error;
    }
  }

  /**
   * The agent's key failed, and the protocol serves the request from now on. The agent's hold is released. Throws 503
   * if that could not be written down: then nothing is sent again.
   */
  async reassign(): Promise<void> {
    const { clock, ledger } = this.#gateway.environment;
    const command = { type: "reassign", id: this.id, at: clock.now() } as const;
    try {
      const { status } = await ledger.run(() => sendHeard(this.#chain, this.#owner, command), { insist: true });
      if (status !== "reassigned") throw new LedgerUnavailable(`the ledger answered with ${status}`);
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error;
      fail("ledger_unavailable", "The ledger is unavailable. Nothing was charged. Retry in a few seconds.");
    }
    this.#server = null;
    this.#dropAnswer();
  }

  /** Has the order of the next model, and its turn. Throws the failure if no other model may serve the request. */
  async fallBack(failure: unknown): Promise<void> {
    const { breaker, environment, queue } = this.#gateway;
    const next = nextModel(this.order, failure);
    if (next === undefined || this.isAborted || this.clientGone?.aborted === true) throw failure;
    this.turn.leave();
    this.#dropAnswer();
    const { upstreamBody, limitChoice: _, ...order } = next;
    this.order = order;
    this.#body = upstreamBody;
    const model = order.model.id;
    try {
      breaker.check(model, this.#owner, environment.clock.now());
      this.turn = await queue.enter({ model, account: this.#owner, key: this.#ownKey }, this.clientGone);
    } catch (refusal) {
      await this.fallBack(refusal);
    }
  }

  /** Nothing more of an earlier answer is read. A call that was aborted stays aborted. */
  #dropAnswer(): void {
    const tried = this.#abort;
    if (tried.signal.aborted) return;
    this.#abort = new AbortController();
    tried.abort();
  }

  /** The signed receipt of a charge; null if it is free, or a capacity pays. */
  signReceipt(chargeNanoUsd: NanoUsd): string | null {
    if (this.spender !== null || chargeNanoUsd === 0) return null;
    const { model, quote } = this.order;
    const { agent: server = null, offer = null } = this.#server ?? {};
    return signReceipt(this.#gateway, {
      ...{ account: partitionAddress(this.#owner), id: this.id, admittedAt: this.at, chargeNanoUsd },
      ...{ model: model.id, snapshot: quote.snapshotId, server, offer },
    });
  }

  /** Keeps the provider's first id of the answer, for the receipt. An id that contains a key of ours is ignored. */
  noteUpstreamId(id: string | null): void {
    if (id === null || this.#upstreamId !== null) return;
    if (this.#gateway.secrets(this.upstreamKey).remove(id) === id) this.#upstreamId = id.slice(0, MAX_ID_CHARACTERS);
  }

  /** Writes what was delivered so far, and the provider's id of the answer. Throws if it could not be written. */
  async checkpoint(delivered: Delivered): Promise<void> {
    if (this.#hasEnded) return;
    const deliveredNanoUsd = this.order.quote.chargeForDelivered(delivered);
    // The sweeper reads the record of the answer at the price of the model that the hold's detail names.
    const detail = this.order.tried === undefined ? {} : { detail: JSON.stringify(holdDetail(this)) };
    const written = { deliveredNanoUsd, upstreamId: this.#upstreamId, ...detail };
    const command = { type: "checkpoint", id: this.id, ...written } as const;
    const { status } = await this.#gateway.environment.ledger.run(() => send(this.#owner, command));
    if (status !== "written") throw new Error(`the ledger answered a checkpoint with ${status}`);
  }

  /** Stops reading an answer. */
  abort(): void {
    this.#abort.abort();
  }

  /** As `abort`, with a reason for the client. Returns the error to throw. */
  giveUp(why: string): Error {
    const reason = new GivenUp(why);
    this.#abort.abort(reason);
    return reason;
  }

  /**
   * Ends the request in the ledger and gives back its turn. A second call changes nothing.
   *
   * @param options.isSent False: the answer is sent only if `whenDurable` resolves to true, and is free otherwise.
   */
  end(ending: Ending, { isSent = true } = {}): Ended {
    const gateway = this.#gateway;
    const conclusion = conclude(this.order.quote, ending);
    if (this.#hasEnded) return { conclusion, whenDurable: async () => true };
    this.#hasEnded = true;
    this.availableNanoUsd = undefined;
    this.trace.ended(ending);
    this.turn.leave();
    if (this.#server !== null) {
      gateway.openOffers.ended(this.#server, this.heldNanoUsd - conclusion.chargeNanoUsd);
    }
    const { environment } = gateway;
    if (conclusion.alert !== null) environment.log("alert", "usage", { request: this.id, alert: conclusion.alert });
    if (ending.costNanoUsd !== undefined) {
      const listedNanoUsd = conclusion.chargeNanoUsd + conclusion.lossNanoUsd;
      gateway.providerCosts.note(this.order.model.id, ending.costNanoUsd, listedNanoUsd);
    }
    if (conclusion.exceedsBound && this.order.quote.bound?.audioMs !== undefined) gateway.longAudio.note(this.#owner);
    else if (conclusion.exceedsBound) gateway.prices.exceededBound(this.order.model.id);
    const durable = this.#resolveHold(ending, conclusion, isSent);
    environment.background(durable);
    return { conclusion, whenDurable: () => durable };
  }

  /** Call it when nothing more of the answer is read. */
  close(): void {
    this.#deadline.cancel();
    this.trace.close();
  }

  /**
   * Settles or releases the hold. Returns whether the ledger has the end. If the ledger cannot write now, the end is
   * written in the background as soon as it can. Never throws.
   */
  async #resolveHold(ending: Ending, conclusion: Conclusion, isSent: boolean): Promise<boolean> {
    try {
      await this.#write(ending, conclusion, { insist: true });
      return true;
    } catch (error) {
      if (error instanceof LedgerUnavailable) {
        const [later, isOwed] = isSent ? [ending, conclusion] : [unsent, withoutCharge(conclusion)];
        this.#gateway.environment.background(
          this.#write(later, isOwed, { untilDurable: true }).catch((last) => this.#lose(last)),
        );
      } else this.#lose(error);
      return false;
    }
  }

  /** Counts the end, and logs its loss, once the ledger has it. Throws if the ledger does not take it. */
  async #write(
    ending: Ending,
    conclusion: Conclusion,
    options: { insist?: boolean; untilDurable?: boolean },
  ): Promise<void> {
    const { accessLog, environment, live, metrics } = this.#gateway;
    const { id } = this;
    const { outcome, chargeNanoUsd, lossNanoUsd } = conclusion;
    const receipt = receiptDetail(this, ending, conclusion);
    const at = environment.clock.now();
    const command = endCommand({ id, at }, conclusion, receipt);
    const reply = await environment.ledger.run(() => sendHeard(this.#chain, this.#owner, command), options);
    const { status } = reply;
    if (status === "unheard") throw new LedgerUnavailable(CHAIN_UNREAD);
    const isResolved = status === (outcome === "settle" ? "settled" : "released");
    if (!isResolved) throw new Error(`the ledger answered ${outcome} with ${status}`);
    if ("availableNanoUsd" in reply) this.availableNanoUsd = reply.availableNanoUsd;
    metrics.ended({ ...conclusion, byAgent: this.#server !== null }, at - this.at);
    if (lossNanoUsd > 0) environment.log("alert", "loss", { request: id, lossNanoUsd, why: receipt.why ?? "" });
    // The sweeper skips it until now, because a full disk can delay a settle beyond the lease.
    live.delete(id);
    accessLog?.ended(id, { model: this.order.model.id, costNanoUsd: chargeNanoUsd });
  }

  /** The sweeper ends a hold that is still open, with what is known then. */
  #lose(error: unknown): void {
    const { accessLog, environment, live } = this.#gateway;
    environment.log("alert", "settle_failed", { request: this.id, error: String(error) });
    live.delete(this.id);
    accessLog?.ended(this.id, null);
  }
}

/** After a start or a restore an account does nothing before it has heard the chain's totals. */
const CHAIN_UNREAD = "the chain is not read far enough";

/** A longer id would not find a record. */
const MAX_ID_CHARACTERS = 200;
/** The statuses of a provider that is down. A 500 may concern one request only, and a 429 concerns our rate. */
const isDown = new Set([502, 503, 504]);
