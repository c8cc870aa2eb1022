import { formatDecimal } from "@inference/protocol/money";
import { readHoldings } from "@inference/sdk";
import { isAddress } from "viem";
import * as z from "zod";
import { isAccountNamed } from "../account.ts";
import { command } from "../command.ts";
import { connectAsAnyone, connectAsOwner, gatewayOf } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { dollars, shortCoins, withCents } from "../money.ts";
import { signerOptions } from "../options.ts";
import { table } from "../table.ts";

export const wallet = command({
  name: "wallet",
  about: "coins, dollars and tokens of the account on each chain",
  arguments: { address: { about: "of another account", optional: true } },
  options: signerOptions,
  output: z.strictObject({
    address: z.string(),
    chains: z.array(
      z.union([
        z.strictObject({
          chain_id: z.int(),
          name: z.string().nullable(),
          coin: z.string().describe("For gas."),
          dollars: z.string(),
          amount_token: z.string().describe("Units of 1e-6 token."),
          staking: z
            .strictObject({ amount: z.string().describe("Exact decimal."), symbol: z.string() })
            .nullable()
            .describe("Null: the chain has no pool."),
        }),
        z.strictObject({ chain_id: z.int(), name: z.string().nullable(), unread: z.string().describe("Why.") }),
      ]),
    ),
  }),
  async run(context, { arguments: { address: named }, options }) {
    if (named !== undefined && !isAddress(named)) throw new UsageError(`\`${named}\` is not an address.`);
    const kept = isAccountNamed(options) ? undefined : gatewayOf(context, options).login?.address;
    const address = named ?? kept;
    const connection =
      address === undefined ? await connectAsOwner(context, options) : connectAsAnyone(context, options);
    const whose = (address ?? connection.account?.address) as `0x${string}`;
    const chains = (await readHoldings(connection, whose)).map((chain) => {
      const { chainId, name } = chain;
      if ("unread" in chain) return { chain_id: chainId, name, unread: chain.unread };
      const coin = formatDecimal(chain.coinWei, 18);
      const { amount, decimals } = chain.dollar;
      const { staking: stake } = chain;
      const staking = stake === null ? null : { ...stake, amount: formatDecimal(stake.amount, 18) };
      const own = { coin, dollars: formatDecimal(amount, decimals), amount_token: String(chain.amountToken), staking };
      return { chain_id: chainId, name, ...own };
    });
    return { address: whose, chains };
  },
  text: ({ address, chains }, columns) =>
    `${address}\n${table(
      ["chain", "name", " coins for gas", " dollars", " tokens", " staking token"],
      chains.map((chain) => {
        const name = [String(chain.chain_id), chain.name ?? ""];
        if ("unread" in chain) return [...name, chain.unread];
        return [
          ...name,
          shortCoins(chain.coin),
          withCents(chain.dollars),
          dollars(BigInt(chain.amount_token)).slice(1),
          chain.staking === null ? "" : `${chain.staking.amount} ${chain.staking.symbol}`,
        ];
      }),
      { columns, empty: "The gateway names no chain." },
    )}`,
});
