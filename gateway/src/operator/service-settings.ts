import type { statusAnswer } from "@inference/protocol/wire/answers";
import * as z from "zod";
import { httpUrl, setting, type ValuesOf } from "../setting-fields.ts";

const link = httpUrl.nullable().default(null);

/** The operator, as the dashboard names it. The links are shown to every visitor. */
export const serviceSettings = {
  name: setting(
    "OPERATOR_NAME",
    "Name of the service, in the dashboard.",
    z.string().max(40, "must have at most 40 characters").default("Inference"),
  ),
  logoUrl: setting(
    "OPERATOR_LOGO_URL",
    "Square logo in the dashboard: a URL, or a `data:` URL of a PNG, SVG or WebP image.",
    z
      .union(
        [httpUrl, z.string().regex(/^data:image\/(png|svg\+xml|webp);base64,[\w+/=]+$/)],
        "must be an http(s) URL, or `data:image/png;base64,...`, of a square image",
      )
      .nullable()
      .default(null),
  ),
  support: setting(
    "OPERATOR_SUPPORT",
    "Address for support, in the dashboard: an e-mail address or a URL.",
    z
      .union([z.email().transform((text) => `mailto:${text}`), httpUrl], "must be an e-mail address or an http(s) URL")
      .nullable()
      .default(null),
  ),
  termsUrl: setting(
    "OPERATOR_TERMS_URL",
    "URL of the terms of service. Without it the dashboard says that the terms are not set.",
    link,
  ),
  privacyUrl: setting(
    "OPERATOR_PRIVACY_URL",
    "URL of the privacy policy. Without it the dashboard says that it is not set.",
    link,
  ),
  onRampUrl: setting(
    "ON_RAMP_URL",
    "URL of a service that sells the chains' stablecoin for a card payment. Without it the dashboard names none.",
    link,
  ),
};
export type ServiceConfig = ValuesOf<typeof serviceSettings>;

/** The operator as `GET /api/v1/status` names it. */
export function operatorObject(service: ServiceConfig): z.infer<typeof statusAnswer>["data"]["operator"] {
  return {
    name: service.name,
    logo_url: service.logoUrl,
    support_url: service.support,
    terms_url: service.termsUrl,
    privacy_url: service.privacyUrl,
    on_ramp_url: service.onRampUrl,
  };
}
