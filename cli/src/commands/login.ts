import type { KeyTermTexts } from "@inference/protocol/key-message";
import { parseSiweMessage } from "@inference/protocol/siwe";
import {
  ClientError,
  connect,
  createKey,
  createSignedKey,
  RefusedError,
  readCredits,
  readStatus,
} from "@inference/sdk";
import type { LocalAccount } from "viem";
import * as z from "zod";
import { keptAccount, namedAccount, type Signing } from "../account.ts";
import { command } from "../command.ts";
import { gatewayUrl } from "../connections.ts";
import type { Context } from "../context.ts";
import { findReadyFile, pinsOf, readReadyFile } from "../devnet-files.ts";
import { UsageError } from "../errors.ts";
import { rememberKeys } from "../key-names.ts";
import { ownName, readTerms, termOptions } from "../key-terms.ts";
import { signInBrowser } from "../login-page.ts";
import { keepLogin, type Login, readLogin, type Signer } from "../login-state.ts";
import { usd } from "../money.ts";
import { accountOptions, type ChainPins, chainOptions, gatewayOptions, readPins } from "../options.ts";
import { shownLogin, who } from "./session.ts";

export const login = command({
  name: "login",
  about: "sign for an API key, and keep it for the other commands",
  more:
    "It opens your browser wallet. With --account, --keystore or --private-key the key signs here; only a keystore's path\n" +
    "is saved, never a private key. A login of the same account stays if its API key is still valid. --rpc and --contract\n" +
    "are saved with it.",
  arguments: {},
  options: {
    ...gatewayOptions,
    ...accountOptions,
    ...chainOptions,
    ...termOptions,
    devnet: { type: "boolean", about: "the devnet of `npm start`, with one of its wallets" },
    wallet: {
      type: "string",
      value: "number",
      about: "which of the devnet's wallets: 0 to 4. 0 has a balance already",
    },
    "no-browser": { type: "boolean", about: "only print the page's address" },
  },
  output: z.strictObject({
    ...who,
    is_new: z.boolean().describe("False: the login before is still good."),
    available_nano_usd: z.int(),
  }),
  async run(context, { options }) {
    const terms = { name: ownName(), ...readTerms(options) };
    const pins = readPins(options);
    if (options.devnet === true) return loginToDevnet(context, { wallet: options.wallet ?? "0", pins, terms });
    const earlier = readLogin(context);
    const typed = gatewayUrl(gatewayText(context, options.gateway, earlier));
    const named = await namedAccount(context, options);
    const gateway = await baseUrlOf(typed);
    const signing = named ?? (await keptSigning(context, gateway, earlier));
    const chains = readPins(options, earlier?.gateway === gateway ? earlier.chains : {});
    if (signing !== undefined) return loginAs(context, { gateway, signing, chains, terms });
    if (earlier?.gateway === gateway && (await isGood(earlier))) return stay(context, { ...earlier, chains }, terms);
    const opensPage = options["no-browser"] !== true && context.isInteractive;
    const signed = await signInBrowser(context, { gateway, terms, opensPage });
    const { key, data } = await createSignedKey(connect({ gateway }), signed);
    rememberKeys(context, [data]);
    const address = parseSiweMessage(signed.message)?.address ?? "";
    const signer: Signer = { type: "elsewhere" };
    return finish(context, { gateway, address, apiKey: key, keyId: data.id, signer, chains }, true);
  },
  text: ({ gateway, address, signer, is_new: isNew, available_nano_usd: available }) =>
    `${isNew ? "Logged in" : "Still logged in"} to ${gateway} as ${address}, with ${usd(available)}.\n${
      signer === "elsewhere"
        ? "This account does not sign here: give --account or --private-key to commands that pay."
        : available === 0
          ? 'Next: `infer mint 5`, `infer activate 5`, then `infer chat "Hello"`.'
          : 'Next: `infer chat "Hello"`.'
    }`,
});

async function loginToDevnet(
  context: Context,
  { wallet, pins, terms }: { wallet: string; pins: ChainPins; terms: KeyTermTexts },
) {
  const readyFile = findReadyFile(context);
  const ready = readReadyFile(readyFile);
  const signer: Signer = { type: "devnet", readyFile, wallet: Number(wallet) };
  if (!/^\d$/.test(wallet) || ready.wallets[Number(wallet)] === undefined) {
    throw new UsageError(`--wallet takes a number from 0 to ${ready.wallets.length - 1}, not \`${wallet}\`.`);
  }
  const account = (await keptAccount(context, signer)) as LocalAccount;
  const chains = { ...pinsOf(ready), ...pins };
  return loginAs(context, { gateway: ready.gatewayUrl, signing: { account, signer }, chains, terms });
}

/** Signs for a key, unless the previous login has a valid one for the same account. */
export async function loginAs(
  context: Context,
  { gateway, signing, chains, terms }: { gateway: string; signing: Signing; chains: ChainPins; terms: KeyTermTexts },
) {
  const { account, signer } = signing;
  const earlier = readLogin(context);
  const isSame = earlier?.gateway === gateway && earlier.address.toLowerCase() === account.address.toLowerCase();
  if (isSame && (await isGood(earlier))) return stay(context, { ...earlier, signer, chains }, terms);
  const { key, data } = await createKey(connect({ gateway, account }), terms);
  rememberKeys(context, [data]);
  const made = { gateway, address: account.address, apiKey: key, keyId: data.id, signer, chains };
  return finish(context, made, true);
}

/** Keeps the previous login. Its key keeps its terms. */
function stay(context: Context, login: Login, { limit, limit_reset: reset, expires_at: expires }: KeyTermTexts) {
  if (limit === undefined && reset === undefined && expires === undefined) return finish(context, login, false);
  throw new UsageError(
    `You are logged in already, with the key ${login.keyId}. Change its terms with \`infer keys limit\`, ` +
      "or make another key with `infer keys create`.",
  );
}

async function finish(context: Context, login: Login, isNew: boolean) {
  keepLogin(context, login);
  const { gateway, apiKey } = login;
  const { available_nano_usd: available } = await readCredits(connect({ gateway, apiKey }));
  return { ...shownLogin(login), is_new: isNew, available_nano_usd: available };
}

/** Whether the key of a login still works. Throws if the gateway does not answer. */
async function isGood({ gateway, apiKey }: Login): Promise<boolean> {
  try {
    await readCredits(connect({ gateway, apiKey }));
    return true;
  } catch (error) {
    if (error instanceof RefusedError && error.status === 401) return false;
    throw error;
  }
}

function gatewayText(context: Context, named: string | undefined, earlier: Login | undefined): string {
  const text = named ?? (context.environment.INFERENCE_GATEWAY || earlier?.gateway);
  if (text !== undefined) return text;
  throw new UsageError("Name the gateway: `infer login --gateway URL`. `infer login --devnet` is for `npm start`.");
}

/** The URL that signed messages name. The typed URL may differ. */
async function baseUrlOf(gateway: string): Promise<string> {
  const { base_url: url } = await readStatus(connect({ gateway }));
  if (new URL(url).host === new URL(gateway).host) return gatewayUrl(url);
  throw new ClientError("unreachable", `${gateway} says that it is ${url}: use that address if you trust it.`);
}

/** The keystore of the previous login, so that `infer login` alone renews it. */
async function keptSigning(
  context: Context,
  gateway: string,
  earlier: Login | undefined,
): Promise<Signing | undefined> {
  if (earlier === undefined || earlier.gateway !== gateway || earlier.signer.type !== "keystore") return undefined;
  const account = await keptAccount(context, earlier.signer);
  return account === undefined ? undefined : { account, signer: earlier.signer };
}
