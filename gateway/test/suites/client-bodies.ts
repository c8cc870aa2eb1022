import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

const USD = 1_000_000_000;

const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const tools = [{ type: "function", function: { name: "read_file", description: "Reads a file.", parameters } }];
const call = { id: "call_1", type: "function", function: { name: "read_file", arguments: '{"path":"a.txt"}' } };
const stream = { stream: true, stream_options: { include_usage: true } };
const ephemeral = { type: "ephemeral" };

/**
 * Bodies in the shape of those that tools send to chat, and the parameters that are ignored in each. No output limit
 * where the tool sends none. Those of Cline, Goose, Continue and opencode follow the sources of their request builders;
 * those of LibreChat and Cursor reports of users; Aider's and Open WebUI's are what is generally known of them.
 */
const bodies: Record<string, { body: object; ignored?: string }> = {
  Cline: {
    body: {
      messages: [
        { role: "system", content: "You are an agent." },
        { role: "user", content: [{ type: "text", text: "Read it." }] },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: "text" },
      ],
      temperature: 0,
      reasoning_effort: "medium",
      tools,
      ...stream,
    },
  },
  Goose: {
    body: {
      messages: [
        { role: "developer", content: "You are an agent." },
        { role: "user", content: "Read it." },
        { role: "assistant", reasoning_content: "First read.", tool_calls: [call] },
        { role: "tool", content: "text", tool_call_id: "call_1" },
      ],
      tools,
      max_completion_tokens: 4096,
      reasoning_effort: "low",
      ...stream,
    },
  },
  Continue: {
    body: {
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: " " },
        { role: "user", content: "Go on" },
      ],
      max_tokens: 2048,
      temperature: 0.5,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      stop: ["\n\n\n"],
      stream: true,
      tools: [{ type: "function", function: { ...tools[0]?.function, strict: false } }],
    },
  },
  "opencode, through the AI SDK": {
    body: {
      messages: [
        { role: "system", content: "You are an agent.", cache_control: ephemeral },
        { role: "user", content: "Read it.", cache_control: ephemeral },
        { role: "assistant", content: "", tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: "text", cache_control: ephemeral },
      ],
      max_tokens: 8192,
      temperature: 0,
      top_p: 1,
      tools,
      tool_choice: "auto",
      prompt_cache_key: "ses_1",
      ...stream,
    },
    ignored: "messages.cache_control",
  },
  LibreChat: {
    body: {
      messages: [{ role: "user", content: "Hi" }],
      user: "68906998cc83815dd7244885",
      web_search: false,
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      ...stream,
    },
    ignored: "user, web_search",
  },
  "Open WebUI": {
    body: {
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      temperature: 0.8,
      max_tokens: 128,
      seed: 1,
      stop: ["###"],
      chat_id: "c1",
      session_id: "s1",
      id: "m1",
      ...stream,
    },
    ignored: "chat_id, session_id, id",
  },
  Aider: {
    body: {
      messages: [
        { role: "system", content: [{ type: "text", text: "Edit files.", cache_control: ephemeral }] },
        { role: "user", content: "Hi" },
      ],
      temperature: 0,
      ...stream,
    },
  },
  Cursor: {
    body: {
      input: [{ role: "user", content: [{ type: "input_text", text: "Hi" }] }],
      instructions: "You are an agent.",
      tools: [{ type: "function", name: "read_file", description: "Reads a file.", parameters, strict: false }],
      tool_choice: "auto",
      reasoning: { effort: "medium", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      store: false,
      user: "u1",
      metadata: { cursorRequestId: "r1" },
      ...stream,
    },
    ignored: "include, store, user, metadata",
  },
};

/** The fields that tools send to chat pass, and the ignored ones are named. */
export function testClientBodies(start: StartHost): void {
  describe("a chat body of", () => {
    const host = hostFor(start);

    for (const [client, { body, ignored = null }] of Object.entries(bodies)) {
      test(`${client} passes`, async () => {
        const { key } = await host.account(USD);
        const answer = await host.call("/v1/chat/completions", { key, body: { model: "sim-small", ...body } });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        assert.match(text, /data: \[DONE\]\n\n$/);
        assert.equal(answer.headers.get("x-ignored-parameters"), ignored);
        const [record] = host.simulator.simulator.records.select(({ method }) => method === "POST", 1);
        const { messages } = JSON.parse(record?.body ?? "") as { messages: object[] };
        for (const message of messages) assert.ok(!("cache_control" in message), "no place of it");
      });
    }
  });
}
