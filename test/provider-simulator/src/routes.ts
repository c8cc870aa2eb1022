import { allowance, usageHistory } from "./billing-routes.ts";
import { readBody } from "./body.ts";
import { catalogueRead } from "./catalogue-routes.ts";
import { chatCompletions } from "./chat.ts";
import { embeddings } from "./embeddings.ts";
import * as errors from "./errors.ts";
import { type Exchange, sendAnswer, sendText } from "./exchange.ts";
import { isForm, parseForm, textIn } from "./form.ts";
import { imageEdit, imageUpscale } from "./image-edits.ts";
import { imageGenerate, imagesGenerations } from "./images.ts";
import { createKey, patchKey } from "./key-routes.ts";
import { audioSpeech } from "./speech.ts";
import { audioTranscriptions } from "./transcriptions.ts";
import { type Body, parseJsonObject, stringField } from "./validate.ts";
import { BASE_PATH } from "./wire.ts";

interface Route {
  /** Open routes take no key, admin routes only the administrator's. Paid routes also pass the account's checks. */
  readonly access: "open" | "paid" | "admin";
  /** The body is a form, or may be one. */
  readonly takesForm?: "always" | "too";
  readonly handle: (x: Exchange, body: Body) => void | Promise<void>;
}

const open = (handle: Route["handle"]): Route => ({ access: "open", handle });
const paid = (handle: Route["handle"]): Route => ({ access: "paid", handle });
const paidForm = (handle: Route["handle"]): Route => ({ access: "paid", takesForm: "always", handle });
const paidEither = (handle: Route["handle"]): Route => ({ access: "paid", takesForm: "too", handle });
const admin = (handle: Route["handle"]): Route => ({ access: "admin", handle });

const ROUTES: ReadonlyMap<string, Route> = new Map([
  [
    "GET /models",
    open(catalogueRead(({ sim }, type) => sim.catalogue.listing(type, sim.settings.simulatorFaults === 1))),
  ],
  ["GET /models/traits", open(catalogueRead(({ sim }, type) => sim.catalogue.traits(type)))],
  ["GET /models/compatibility_mapping", open(catalogueRead(({ sim }, type) => sim.catalogue.compatibility(type)))],
  ["GET /image/styles", open(catalogueRead(({ sim }) => sim.catalogue.styles()))],
  ["POST /chat/completions", paid(chatCompletions)],
  ["POST /image/generate", paid(imageGenerate)],
  ["POST /images/generations", paid(imagesGenerations)],
  ["POST /image/edit", paidEither(imageEdit)],
  ["POST /image/upscale", paidEither(imageUpscale)],
  ["POST /audio/speech", paid(audioSpeech)],
  ["POST /audio/transcriptions", paidForm(audioTranscriptions)],
  ["POST /embeddings", paid(embeddings)],
  ["POST /api_keys", admin(createKey)],
  ["PATCH /api_keys", admin(patchKey)],
  ["GET /billing/allowance", admin(allowance)],
  ["GET /billing/usage-history", admin(usageHistory)],
]);

/** Answers a request of the provider's wire. The body is read first, so that the record has it in any case. */
export async function handleProvider(x: Exchange): Promise<void> {
  const type = x.request.headers["content-type"] ?? "";
  let bytes: Buffer | null = null;
  try {
    bytes = await readBody(x.request);
  } finally {
    remember(x, bytes === null ? null : isForm(type) ? textIn(bytes) : bytes.toString("utf8"));
  }
  if (bytes === null) return;
  const { url = "/" } = x.request;
  // Below the bare version path the provider redirects, whatever the method.
  if (url.startsWith("/v1/")) return sendText(x, 301, ["location", `/api${url}`], "");
  const route = ROUTES.get(`${x.request.method} ${x.path}`);
  if (!url.startsWith(`${BASE_PATH}/`) || route === undefined) return sendAnswer(x, errors.NOT_FOUND);
  const hasBody = x.request.method !== "GET";
  // The provider checks the type before the credential.
  const hasForm = route.takesForm !== undefined && isForm(type);
  if (route.takesForm === "always" && !hasForm) return sendAnswer(x, errors.FORM_REQUIRED);
  if (hasBody && !hasForm && !/^application\/json\b/i.test(type)) return sendAnswer(x, errors.JSON_TYPE_REQUIRED);
  if (route.access !== "open") authenticate(x, route.access === "admin");
  const body = hasForm ? await parseForm(bytes, type) : hasBody ? parseJsonObject(bytes.toString()) : {};
  if (route.access === "paid") admit(x, body);
  await route.handle(x, body);
}

function remember(x: Exchange, body: string | null): void {
  const { record } = x.sim.settings;
  if (record === "full" && body !== "") x.record.body = body;
  if (record !== "off") x.sim.records.add(x.record);
}

function authenticate(x: Exchange, isAdmin: boolean): void {
  const key = x.sim.keys.authenticate(x.request.headers.authorization);
  if (key === null) throw new errors.WireError(errors.AUTHENTICATION_REQUIRED);
  if (key === "bad") throw new errors.WireError(errors.AUTHENTICATION_FAILED);
  if (isAdmin && !key.isAdmin) throw new errors.WireError(errors.ADMIN_KEY_REQUIRED);
  x.key = key;
  x.record.keyId = key.id;
}

/** The checks of the account, before those of the route. */
function admit(x: Exchange, body: Body): void {
  const { sim, key } = x;
  const model = stringField(body, "model")?.slice(0, 200) ?? "";
  const user = stringField(body, "user")?.slice(0, 200) ?? "";
  x.record.model = model;
  x.record.user = user === "" ? null : user;
  x.model = model;
  const { errorBudget, errorBudgetOf, requestsPerMinute } = sim.settings;
  if (errorBudget !== null) {
    x.bucket = errorBudgetOf === "key" ? `${key?.id}` : `${key?.id}|${model}|${user}`;
    if (sim.limits.isLocked(x.bucket)) throw new errors.WireError(errors.errorBudgetSpent(errorBudget));
  }
  if (requestsPerMinute !== null && !sim.limits.admit(model, requestsPerMinute)) {
    throw new errors.WireError(errors.RATE_LIMITED);
  }
  const exhausted = key === null ? null : sim.keys.exhausted(key);
  if (exhausted === "usd") throw new errors.WireError(errors.USD_LIMIT_EXCEEDED);
  if (exhausted === "diem") throw new errors.WireError(errors.DIEM_LIMIT_EXCEEDED);
}
