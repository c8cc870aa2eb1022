import { oneLine } from "@inference/keeper/log";
import { type Offer, offerTypedData } from "@inference/protocol/offer";
import type { Settlement } from "@inference/protocol/use-leaf";
import { offerAnswer } from "@inference/protocol/wire/offer";
import type { Address, PrivateKeyAccount } from "viem";
import type * as z from "zod";
import { ComputerError } from "./computer-error.ts";

/** The gateway's state of an agent's offer. */
export type OfferState = z.output<typeof offerAnswer>["data"];

/** A computer's calls to a gateway. */
export type GatewayClient = {
  /** Where the gateway says that its contracts are. Throws {@link ComputerError} if it names no registry. */
  primary(): Promise<{ settlement: Settlement; registry: Address; rpcUrl: string }>;
  read(): Promise<OfferState>;
  /** Signs the offer and puts it; with a share of 0, signs the withdrawal. */
  send(settlement: Settlement, offer: Offer): Promise<OfferState>;
};

const CALL_MS = 10_000;

/** All calls throw {@link GatewayRefused} for an answer that a repetition does not change, and any other error else. */
export function connectGateway(
  gatewayUrl: string,
  { agentToken, account }: { agentToken: Address; account: PrivateKeyAccount },
): GatewayClient {
  const path = `/api/v1/agents/${agentToken.toLowerCase()}/offer`;

  async function call(method: string, target: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${gatewayUrl}${target}`, {
      method,
      signal: AbortSignal.timeout(CALL_MS),
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as unknown;
    const message = `The gateway answered ${response.status} to ${method} ${target}: ${messageOf(text)}`;
    const passes = response.status >= 500 || [408, 409, 429].includes(response.status);
    throw passes ? new Error(message) : new GatewayRefused(message, response.status);
  }

  return {
    async primary() {
      const { data } = (await call("GET", "/api/v1/contracts")) as { data: { chains: ChainObject[] } };
      const chain = data.chains.find(({ role }) => role === "primary");
      const { inferenceSettlement: address, agentRegistry: registry } = chain?.contracts ?? {};
      if (chain === undefined || address === undefined || registry === undefined) {
        throw new ComputerError(
          `The gateway at ${gatewayUrl} names no registry of agents: set GATEWAY_URL to a gateway that sells for agents.`,
        );
      }
      return { settlement: { chainId: chain.chain_id, address }, registry, rpcUrl: chain.rpc_url ?? "" };
    },
    async read() {
      try {
        return offerAnswer.parse(await call("GET", path)).data;
      } catch (error) {
        if (!(error instanceof GatewayRefused && error.status === 404)) throw error;
        throw new ComputerError(
          `The gateway at ${gatewayUrl} has no ${path}: set GATEWAY_URL to a gateway that sells for agents.`,
        );
      }
    },
    async send(settlement, offer) {
      const signature = await account.signTypedData(offerTypedData(settlement, offer));
      const body = { day: offer.day, share_bps: offer.shareBps, nonce: offer.nonce, signature };
      return offerAnswer.parse(await call(offer.shareBps === 0 ? "DELETE" : "PUT", path, body)).data;
    },
  };
}

type ChainObject = { chain_id: number; role: string; rpc_url: string | null; contracts: Record<string, Address> };

function messageOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error: { message: string } };
    return error.message;
  } catch {
    return oneLine(text).slice(0, 200);
  }
}

/** An answer that stays the same however often it is asked for. */
export class GatewayRefused extends ComputerError {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
