import { isAddress, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { activationsAnswer } from "@inference/protocol/wire/dollars";
import { toActivationObject } from "../activations/activation-object.ts";
import { activationsOnTheirWay } from "../activations/on-their-way.ts";
import { json, ok } from "../docs/operation.ts";
import { endpoint } from "./endpoint.ts";

export const getActivations = endpoint({
  path: "/api/v1/activations/{address}",
  id: "getActivations",
  group: "Spending",
  title: "The activations on their way to an address",
  about:
    "What was burned for this address on any chain and is not in its balance yet: how far it has come, what it waits " +
    "for, and when it is due at the latest. Activations from a secondary chain are listed for a day after they were " +
    "credited. It shows only what the chains show anyone.",
  pathParameters: { address: "A wallet's address, with 0x." },
  answers: [ok("The activations.", json("ActivationsAnswer", activationsAnswer))],
  errors: ["chain_unavailable"],
  async handle(context) {
    const { gateway } = context.var;
    const address = context.req.param("address") ?? "";
    if (!isAddress(address)) {
      fail("invalid_request", "The address in the path must be 0x and 40 hexadecimal digits.", { param: "address" });
    }
    const found = await activationsOnTheirWay(gateway, lowerAddress(address));
    if (found === null) fail("chain_unavailable", "The chain cannot be read at the moment. Retry in a few seconds.");
    const secondaries = gateway.config.chains.filter(({ role }) => role === "secondary").map(({ chainId }) => chainId);
    const view = gateway.environment.dollars?.() ?? null;
    const isFollowed = (chainId: number): boolean => view?.chains.some((chain) => chain.chainId === chainId) === true;
    return context.json({
      data: {
        address: lowerAddress(address),
        activations: found.map(toActivationObject),
        unknown_chain_ids: secondaries.filter((chainId) => !isFollowed(chainId)),
      },
    });
  },
});
