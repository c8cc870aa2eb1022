import * as z from "zod";
import { command } from "../command.ts";
import { gatewayOf } from "../connections.ts";
import { CommandError } from "../errors.ts";
import { forgetLogin, type Login, readLogin } from "../login-state.ts";
import { gatewayOptions } from "../options.ts";
import { hasPending } from "../pending.ts";
import { fields } from "../table.ts";

export const who = {
  gateway: z.string(),
  address: z.string(),
  key_id: z.string(),
  signer: z.enum(["keystore", "devnet", "elsewhere"]).describe("Where the account signs."),
};

export const whoami = command({
  name: "whoami",
  about: "the login: gateway, account and key",
  arguments: {},
  options: {},
  output: z.strictObject(who),
  run: async (context) => shownLogin(loginOf(readLogin(context))),
  text: ({ gateway, address, key_id: key, signer }) =>
    fields([
      ["gateway", gateway],
      ["account", address],
      ["key", key],
      ["signs", { keystore: "here, with a keystore", devnet: "here, as the devnet", elsewhere: "elsewhere" }[signer]],
    ]),
});

export const logout = command({
  name: "logout",
  about: "forget the login and its API key",
  more: "The key stays valid at the gateway: `infer keys revoke` ends it. Unfinished transactions and receipts stay.",
  arguments: {},
  options: {},
  output: z.strictObject(who),
  async run(context) {
    const login = loginOf(readLogin(context));
    if (hasPending(context.folder)) context.say("A transaction is not finished: log in again and run `infer resume`.");
    forgetLogin(context);
    return shownLogin(login);
  },
  text: ({ gateway, key_id: key }) =>
    `Logged out of ${gateway}. The key ${key} stays valid there until \`infer keys revoke ${key}\`.`,
});

const pages = ["chat", "models", "keys", "activity", "funds", "agents", "verify", "status", "settings"] as const;

export const open = command({
  name: "open",
  about: "open the gateway's dashboard in the browser",
  arguments: { page: { about: `one of ${pages.join(", ")}; the overview without it`, optional: true, choices: pages } },
  options: gatewayOptions,
  output: z.strictObject({ url: z.string() }),
  async run(context, { arguments: { page = "" }, options }) {
    const url = `${gatewayOf(context, options).gateway}/${page}`;
    if (context.isInteractive) context.openPage(url);
    return { url };
  },
  text: ({ url }) => url,
});

export function shownLogin({ gateway, address, keyId, signer }: Login) {
  return { gateway, address, key_id: keyId, signer: signer.type };
}

function loginOf(login: Login | undefined): Login {
  if (login !== undefined) return login;
  throw new CommandError("You are not logged in: run `infer login`.");
}
