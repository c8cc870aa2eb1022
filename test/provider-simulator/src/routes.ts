import { allowance, balance, usageHistory, usageIsGone } from "./billing-routes.ts";
import { readBody } from "./body.ts";
import { catalogueRoutes } from "./catalogue-routes.ts";
import { chatCompletions } from "./chat.ts";
import { embeddings } from "./embeddings.ts";
import * as errors from "./errors.ts";
import { type Exchange, sendAnswer, sendText } from "./exchange.ts";
import { imageGenerate, imagesGenerations } from "./images.ts";
import { admit } from "./inference.ts";
import { createKey, deleteKey, listKeys, patchKey, rateLimits, readKey } from "./key-routes.ts";
import { audioSpeech } from "./speech.ts";
import { type Body, parseJsonObject } from "./validate.ts";
import { BASE_PATH } from "./wire.ts";

type Handler = (x: Exchange, body: Body) => void | Promise<void>;

interface Route {
  /** Who may ask: nobody in particular, any key, or an admin key. Paid routes also pass the account's checks. */
  readonly access: "open" | "key" | "paid" | "admin";
  readonly handle: Handler;
}

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ...Object.entries(catalogueRoutes).map(([route, handle]): [string, Route] => [route, { access: "open", handle }]),
  ["POST /chat/completions", { access: "paid", handle: chatCompletions }],
  ["POST /image/generate", { access: "paid", handle: imageGenerate }],
  ["POST /images/generations", { access: "paid", handle: imagesGenerations }],
  ["POST /audio/speech", { access: "paid", handle: audioSpeech }],
  ["POST /embeddings", { access: "paid", handle: embeddings }],
  ["GET /api_keys/rate_limits", { access: "key", handle: rateLimits }],
  ["GET /api_keys", { access: "admin", handle: listKeys }],
  ["POST /api_keys", { access: "admin", handle: createKey }],
  ["PATCH /api_keys", { access: "admin", handle: patchKey }],
  ["DELETE /api_keys", { access: "admin", handle: deleteKey }],
  ["GET /billing/balance", { access: "admin", handle: balance }],
  ["GET /billing/allowance", { access: "admin", handle: allowance }],
  ["GET /billing/usage-history", { access: "admin", handle: usageHistory }],
  ["GET /billing/usage", { access: "open", handle: usageIsGone }],
]);
const ONE_KEY = /^GET \/api_keys\/([^/]+)$/;

/** Every request of the provider's wire. Its body is read first, so that the record has it whatever is decided. */
export async function handleProvider(x: Exchange): Promise<void> {
  let text: string | null = null;
  try {
    text = await readBody(x.request);
  } finally {
    remember(x, text);
  }
  if (text === null) return;
  const { url = "/" } = x.request;
  // Below the bare version path the provider redirects, whatever the method.
  if (url.startsWith("/v1/")) return sendText(x, 301, ["location", `/api${url}`], "");
  if (!url.startsWith(`${BASE_PATH}/`)) return sendAnswer(x, errors.NOT_FOUND);

  const route = findRoute(`${x.request.method} ${x.path}`);
  if (route === null) return sendAnswer(x, errors.NOT_FOUND);
  const hasBody = x.request.method === "POST" || x.request.method === "PATCH";
  // The type is looked at before the credential.
  if (hasBody && !/^application\/json\b/i.test(x.request.headers["content-type"] ?? "")) {
    return sendAnswer(x, errors.JSON_TYPE_REQUIRED);
  }
  if (route.access !== "open") authenticate(x, route.access === "admin");
  const body = hasBody ? parseJsonObject(text) : {};
  if (route.access === "paid") admit(x, body);
  await route.handle(x, body);
}

function remember(x: Exchange, body: string | null): void {
  const { record } = x.sim.settings;
  if (record === "full" && body !== "") x.record.body = body;
  if (record !== "off") x.sim.records.add(x.record);
}

function findRoute(name: string): Route | null {
  const known = ROUTES.get(name);
  if (known !== undefined) return known;
  const id = ONE_KEY.exec(name)?.[1];
  return id === undefined ? null : { access: "admin", handle: (x) => readKey(x, id) };
}

function authenticate(x: Exchange, admin: boolean): void {
  const key = x.sim.keys.authenticate(x.request.headers.authorization);
  if (key === null) throw new errors.WireError(errors.paymentDiscovery(BASE_PATH + x.path));
  if (key === "bad") throw new errors.WireError(errors.AUTHENTICATION_FAILED);
  if (admin && key.apiKeyType !== "ADMIN") throw new errors.WireError(errors.ADMIN_KEY_REQUIRED);
  x.key = key;
  x.record.keyId = key.id;
}
