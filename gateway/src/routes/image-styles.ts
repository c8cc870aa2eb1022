import { imageStylesAnswer } from "@inference/protocol/wire/answers";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import { checkPresentedCredential } from "../http/identify.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { providerListErrors } from "./endpoint-errors.ts";
import { readProviderList } from "./provider-list.ts";

const stylesShape = z.object({ object: z.literal("list"), data: z.array(z.string()) });

export const getImageStyles = endpoint({
  prefixes: apiPrefixes,
  path: "/image/styles",
  id: "getImageStyles",
  group: "Inference",
  title: "What `style_preset` of an image may be",
  answers: [ok("The styles.", json("ImageStylesAnswer", imageStylesAnswer))],
  errors: providerListErrors,
  async handle(context) {
    await checkPresentedCredential(context);
    return context.json(await readProviderList(context, "/image/styles", stylesShape));
  },
});
