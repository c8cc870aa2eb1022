import { type Connection, connect } from "@inference/sdk";
import type { Address } from "viem";
import { type AccountChoice, isAccountNamed, keptAccount, namedAccount, type Signing } from "./account.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./errors.ts";
import { type Login, readLogin } from "./login-state.ts";
import { chainsOf, readPins } from "./options.ts";

type GatewayChoice = {
  gateway?: string | undefined;
  rpc?: string[] | undefined;
  contract?: string[] | undefined;
  "max-cost"?: string[] | undefined;
};
type KeyChoice = GatewayChoice & { "api-key"?: string | undefined };

/** A connection for public data. */
export function connectAsAnyone(context: Context, choice: GatewayChoice): Connection {
  const { gateway, login } = gatewayOf(context, choice);
  return connect({ gateway, chains: chainsOf(readPins(choice, login?.chains)), pollMs: pollMs(gateway) });
}

/** A connection with an API key. */
export function connectWithKey(context: Context, choice: KeyChoice): Connection & { apiKey: string } {
  const { gateway, login } = gatewayOf(context, choice);
  const apiKey = choice["api-key"] ?? (context.environment.INFERENCE_API_KEY || login?.apiKey);
  if (apiKey === undefined) throw new CommandError("This needs an API key: run `infer login`, or give --api-key.");
  return { ...connect({ gateway, apiKey, pollMs: pollMs(gateway) }), apiKey };
}

/** A connection with a signing account: of the options, else of the login, else of the environment. */
export async function connectAsOwner(
  context: Context,
  choice: GatewayChoice & AccountChoice,
): Promise<Connection & Signing> {
  const { gateway, login } = gatewayOf(context, choice);
  const kept = login === undefined || isAccountNamed(choice) ? undefined : await keptAccount(context, login.signer);
  const signing = kept && login ? { account: kept, signer: login.signer } : await namedAccount(context, choice);
  if (signing === undefined) {
    throw new CommandError("This needs an account that signs here: give --account, --keystore or --private-key.");
  }
  const { account } = signing;
  if (login !== undefined && login.address.toLowerCase() !== account.address.toLowerCase()) {
    context.say(`The account is ${account.address}; the login is of ${login.address}.`);
  }
  const chains = chainsOf(readPins(choice, login?.chains));
  return { ...connect({ gateway, account, chains, pollMs: pollMs(gateway) }), ...signing };
}

/** The address of the login. Throws `CommandError`. */
export function loginAddress(context: Context, choice: GatewayChoice): Address {
  const address = gatewayOf(context, choice).login?.address;
  if (address === undefined) throw new CommandError("This shows the login's account: run `infer login`.");
  return address as Address;
}

/** The gateway, and the login if it is for the same gateway. */
export function gatewayOf(
  context: Context,
  { gateway: named }: GatewayChoice,
): { gateway: string; login: Login | undefined } {
  const login = readLogin(context);
  const text = named ?? (context.environment.INFERENCE_GATEWAY || login?.gateway);
  if (text === undefined) {
    throw new UsageError("No gateway is named: run `infer login --gateway URL`, or `infer login --devnet`.");
  }
  const gateway = gatewayUrl(text);
  return { gateway, login: login?.gateway === gateway ? login : undefined };
}

/** Without a slash at its end. Throws {@link UsageError}. */
export function gatewayUrl(text: string): string {
  if (!/^https?:\/\/[^/]/.test(text) || !URL.canParse(text)) {
    throw new UsageError(`A gateway is named by its http(s) URL, not \`${text}\`.`);
  }
  return new URL(text).href.replace(/\/+$/, "");
}

/** A gateway on this machine is polled more often. */
function pollMs(gateway: string): number {
  return /^(127\.|localhost$|\[::1\]$)/.test(new URL(gateway).hostname) ? 100 : 1_000;
}
