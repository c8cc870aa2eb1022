import { responsesAnswer, responsesEvent, responsesRequest } from "@inference/protocol/wire/responses";
import { json, ok } from "../docs/operation.ts";
import { responsesStatuses } from "../http/responses-status.ts";
import { parseResponsesOrder } from "../inference/requests/responses.ts";
import { chatContent } from "./chat-completions.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const createResponse = meteredEndpoint({
  path: "/responses",
  name: "responses",
  id: "createResponse",
  title: "The Responses API",
  about:
    "Stateless: send the whole conversation in `input`, and `store: false`. It costs what the same chat costs. Without " +
    "`max_output_tokens` the limit is the least of the model's maximum, the operator's default and what is affordable; " +
    "`x-max-output-tokens` says which is in force. Tools that the provider would run, and fields that are not used, are " +
    "dropped and named in `x-ignored-parameters`. A budget that is taken by your requests in flight is waited for, 10 s " +
    "at most. Errors that are 429 on other routes and end within seconds are 503 here, because Codex does not retry a 429.",
  body: { name: "ResponsesRequest", schema: responsesRequest },
  bodyLimit: "chatBodyBytes",
  answers: [
    ok("The response; `usage.cost` is what was charged.", {
      ...json("ResponsesAnswer", responsesAnswer),
      "text/event-stream": { name: "ResponsesEvent", schema: responsesEvent },
    }),
  ],
  errors: ["context_length_exceeded"],
  errorStatuses: responsesStatuses,
  parse: parseResponsesOrder,
  ...chatContent,
});
