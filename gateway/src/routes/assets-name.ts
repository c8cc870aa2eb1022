import { fail } from "@inference/protocol/errors";
import { ownValue } from "@inference/protocol/own-value";
import { ok } from "../docs/operation.ts";
import { sendConstant } from "../http/constant-text.ts";
import { endpoint } from "./endpoint.ts";

export const getAsset = endpoint({
  path: "/assets/{name}",
  id: "getAsset",
  group: "Documentation",
  title: "A file of the dashboard",
  pathParameters: { name: "As the page at `/` names it, with a hash of the content in it." },
  answers: [ok("The file, which never changes.", { "text/javascript": null, "text/css": null, "image/svg+xml": null })],
  errors: ["not_found"],
  handle(context) {
    const { dashboard } = context.get("gateway").environment;
    const name = context.req.param("name") ?? "";
    const { assets = {} } = dashboard ?? {};
    const asset = ownValue(assets, name);
    if (asset === undefined) return fail("not_found", "The dashboard has no such file: open / again.");
    return sendConstant(context, asset, {
      "content-type": `${asset.type}; charset=utf-8`,
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
  },
});
