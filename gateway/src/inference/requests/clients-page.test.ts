import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { chatRequest } from "@inference/protocol/wire/chat";
import { messagesRequest } from "@inference/protocol/wire/messages";
import { responsesRequest } from "@inference/protocol/wire/responses";
import * as z from "zod";
import { context, orderWith } from "../../../test/models.ts";
import { chatRules, parseChatOrder } from "./chat.ts";
import { messagesRules, parseMessagesOrder } from "./messages.ts";
import { parseResponsesOrder, responsesRules } from "./responses.ts";

const page = readFileSync(new URL("../../../../docs/clients.md", import.meta.url), "utf8");
const messages = [{ role: "user", content: "Hi" }];
const parameters = { type: "object" };

/** Each API: what it takes, and a value of each of its fields that is not the same with any. */
const apis = {
  "/chat/completions": {
    schema: chatRequest,
    rules: chatRules,
    parse: orderWith(parseChatOrder),
    body: { model: "text-1", messages, max_tokens: 50, stream: true },
    values: {
      models: ["seeing"],
      max_completion_tokens: 50,
      n: 1,
      stream_options: { include_usage: true },
      usage: { include: true },
      seed: 1,
      top_k: 1,
      stop: "x",
      stop_token_ids: [1],
      response_format: { type: "json_object" },
      tools: [{ type: "function", function: { name: "f" } }],
      tool_choice: "auto",
      parallel_tool_calls: true,
      logprobs: true,
      top_logprobs: 1,
      reasoning: { effort: "low" },
      reasoning_effort: "low",
      verbosity: "low",
      web_search: true,
      enable_web_search: "on",
      enable_web_scraping: true,
      enable_x_search: true,
      max_output_tokens: 50,
    },
  },
  "/responses": {
    schema: responsesRequest,
    rules: responsesRules,
    parse: orderWith(parseResponsesOrder),
    body: { model: "text-1", input: "Hi" },
    values: {
      models: ["seeing"],
      max_output_tokens: 50,
      stream: true,
      reasoning: { effort: "low" },
      text: { verbosity: "low" },
      tools: [{ type: "function", name: "f" }],
      tool_choice: "auto",
      parallel_tool_calls: true,
      store: true,
      background: true,
    },
  },
  "/messages": {
    schema: messagesRequest,
    rules: messagesRules,
    parse: orderWith(parseMessagesOrder),
    body: { model: "text-1", messages, max_tokens: 50 },
    values: {
      models: ["seeing"],
      stream: true,
      top_k: 1,
      stop_sequences: ["x"],
      tools: [{ name: "f", input_schema: parameters }],
      tool_choice: { type: "auto" },
      thinking: { type: "disabled" },
      output_config: { effort: "low" },
    },
  },
};

/** The names without a field, and their treatment. */
const OTHER = "never_heard_of";

for (const [path, { schema, rules, parse, body, values }] of Object.entries(apis)) {
  describe(`docs/clients.md, POST ${path}`, () => {
    const [, section = ""] = page.split(`## POST ${path}\n`);
    const rows = (section.split("\n## ")[0] ?? "")
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .slice(1)
      .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")) as [string, string]);
    const fields = rows
      .filter(([field]) => /^`[^`]*`(, `[^`]*`)*$/.test(field))
      .flatMap(([field, said]) => [...field.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => ({ name, said })));

    test("names each field of the schema, and each that is dropped or refused by a rule", () => {
      const named = new Set(fields.map(({ name }) => name.split(":")[0]));
      for (const name of [...Object.keys(schema.shape), ...rules.keys()]) assert.ok(named.has(name), name);
    });

    test("says what is done with each field", () => {
      const done: Record<string, number> = {};
      for (const { name, said } of fields) {
        const [field = "", value] = name.split(/: (.*)/);
        if (field === "input" && path === "/chat/completions") continue;
        const what = said.match(/^(used|ignored|refused)/)?.[0] ?? assert.fail(`${name}: ${said}`);
        const known: Record<string, unknown> = { ...body, ...values };
        const sent =
          value === undefined
            ? (known[field] ?? (what === "used" && isText(schema, field) ? "x" : 0.5))
            : JSON.parse(value);
        assert.equal(outcome({ [field]: sent }, field), what, `${name} = ${JSON.stringify(sent)}`);
        done[what] = (done[what] ?? 0) + 1;
      }
      assert.deepEqual(Object.keys(done).sort(), ["ignored", "refused", "used"]);
    });

    test("says what is done with a field that is in no table", () => {
      const [, said = ""] = rows.find(([field]) => field === "any other field") ?? [];
      assert.ok(said.startsWith(outcome({ [OTHER]: 1 }, OTHER)), said);
    });

    test("names each kind of item, block and part", () => {
      const shown = section.split("\n## ")[0] ?? "";
      for (const type of typesOf(z.toJSONSchema(schema, { unrepresentable: "any", io: "input" }))) {
        assert.ok(shown.includes(`\`${type}\``), type);
      }
    });

    function outcome(fields: Record<string, unknown>, field: string): string {
      try {
        const { ignored } = parse({ ...body, ...fields }, context);
        return ignored.some((name) => name.split(".")[0] === field) ? "ignored" : "used";
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error));
        const { param, code } = error.detail;
        assert.ok(param?.startsWith(field) && /^(unsupported_parameter|unpriced_option)$/.test(code), error.message);
        return "refused";
      }
    }
  });
}

function isText(schema: z.ZodObject, field: string): boolean {
  return (schema.shape[field] as z.ZodType).safeParse("x").success;
}

/** The types of items, blocks and parts in a conversation. */
function typesOf(schema: unknown): Set<string> {
  const found = new Set<string>();
  function walk(value: unknown, isInside: boolean): void {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "cache_control" || key === "tool_calls") continue;
      const named = key === "type" && isInside ? (inner as { const?: string; enum?: string[] }) : {};
      for (const type of [named.const ?? [], named.enum ?? []].flat()) found.add(type);
      walk(inner, key === "properties");
    }
  }
  const { properties } = schema as { properties: Record<string, unknown> };
  walk(properties.messages ?? properties.input, false);
  return found;
}
