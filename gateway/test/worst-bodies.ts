/**
 * Request bodies that take the most work for their size, by route. Each is as large as it may be, or as large as a
 * given size: some are admissible, most are to be refused, and none may take the event loop for long.
 */
export type WorstBody = {
  name: string;
  /** Below `/v1`. */
  path: string;
  /** JSON text of at most so many bytes as UTF-8, and close to it. */
  make(maxBytes: number): string;
};

/** The ids of models that the routes serve. */
export type WorstBodyModels = { chat: string; embedding: string; image: string; speech: string };

const simulatorModels: WorstBodyModels = {
  chat: "sim-small",
  embedding: "sim-embedding",
  image: "sim-image",
  speech: "sim-speech",
};

/** @param models By default the provider simulator's. */
export function worstBodies(models: WorstBodyModels = simulatorModels): WorstBody[] {
  return [
    ...chatBodies(models.chat),
    ...fullChatBodies(models.chat),
    ...otherApiBodies(models.chat),
    ...embeddingBodies(models.embedding),
    ...promptBodies(models),
  ];
}

/** Costly texts between the quotes of a JSON string, each unit repeated. */
const texts: Record<string, string> = {
  "plain text": "x",
  "escaped quotes": '\\"',
  "escaped backslashes": "\\\\",
  "unicode escapes": "\\u00e9",
  "lone surrogates": "\\ud800",
  "two-byte characters": "é",
  "four-byte characters": "👋",
};

function chatBodies(model: string): WorstBody[] {
  const path = "/chat/completions";
  const before = `{"model":"${model}","max_tokens":1,`;
  const user = (content: string): string => `{"role":"user","content":${content}}`;
  const body = (name: string, head: string, unit: Unit, tail: string, separator = ","): WorstBody => ({
    name: `chat: ${name}`,
    path,
    make: (maxBytes) => filled(before + head, unit, tail, { separator, maxBytes }),
  });
  const messages = `"messages":[${user('"hi"')}]`;
  return [
    ...Object.entries(texts).map(([name, unit]) =>
      body(`one message of ${name}`, '"messages":[{"role":"user","content":"', unit, '"}]}', ""),
    ),
    body(
      "an image",
      `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,`,
      "A",
      '"}}]}]}',
      "",
    ),
    body("numbers for content", '"messages":[{"role":"user","content":[', "1", "]}]}"),
    body("numbers for messages", '"messages":[', "1", "]}"),
    body("empty objects for messages", '"messages":[', "{}", "]}"),
    body("short messages", '"messages":[', user('"a"'), "]}"),
    body("messages with a field too many", '"messages":[', '{"role":"user","content":"a","x":1}', "]}"),
    body("messages of 250 escapes", '"messages":[', user(`"${"\\u00e9".repeat(250)}"`), "]}"),
    body("messages of 500 letters", '"messages":[', user(`"${"x".repeat(500)}"`), "]}"),
    body("messages of 1,000 escaped quotes", '"messages":[', user(`"${'\\"'.repeat(1_000)}"`), "]}"),
    body("messages of 5,000 letters", '"messages":[', user(`"${"x".repeat(5_000)}"`), "]}"),
    body("text parts", '"messages":[{"role":"user","content":[', '{"type":"text","text":"a"}', "]}]}"),
    body(
      "parts with a field too many",
      '"messages":[{"role":"user","content":[',
      '{"type":"text","text":"a","x":1}',
      "]}]}",
    ),
    body("parts of an unknown type", '"messages":[{"role":"user","content":[', '{"type":"file"}', "]}]}"),
    body("reasoning details", '"messages":[{"role":"assistant","content":"a","reasoning_details":[', '{"a":1}', "]}]}"),
    body("annotations", '"messages":[{"role":"assistant","content":"a","annotations":[', "1", "]}]}"),
    body(
      "tool calls",
      '"messages":[{"role":"assistant","tool_calls":[',
      '{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}',
      "]}]}",
    ),
    body("tools", `${messages},"tools":[`, '{"type":"function","function":{"name":"f"}}', "]}"),
    body(
      "a tool's parameters of many keys",
      `${messages},"tools":[{"type":"function","function":{"name":"f","parameters":{`,
      (index) => `"k${index}":1`,
      "}}}]}",
    ),
    body(
      "a tool's parameters of many values",
      `${messages},"tools":[{"type":"function","function":{"name":"f","parameters":{"a":[`,
      "[]",
      "]}}}]}",
    ),
    body(
      "a response format of many keys",
      `${messages},"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{`,
      (index) => `"k${index}":{}`,
      "}}}}",
    ),
    body("unknown fields", `${messages},`, (index) => `"f${index}":1`, "}"),
    body("fields of null", `${messages},`, (index) => `"f${index}":null`, "}"),
    body("long keys", `${messages},"metadata":{`, (index) => `"${String(index).padStart(500, "k")}":1`, "}}"),
    body("one long key", `${messages},"metadata":{"`, "k", '":1}}', ""),
    body("one key of escapes", `${messages},"metadata":{"`, "\\u00e9", '":1}}', ""),
    body("an ignored list", `${messages},"metadata":[`, "1.5e3", "]}"),
    body("stops", `${messages},"stop":[`, '"a"', "]}"),
    body("token ids for stops", `${messages},"stop_token_ids":[`, "1", "]}"),
    body("a number of many digits", `${messages},"seed":`, "9", "}", ""),
    body("objects in objects", `${messages},"metadata":[`, nested("{", '"a":{', "}".repeat(25)), "]}"),
    body("lists in lists", `${messages},"metadata":[`, nested("[", "[", "]".repeat(25)), "]}"),
    body("lists without an end", `${messages},"metadata":`, "[", "", ""),
    body("white space", messages, " ", "}", ""),
    body("lines of white space between values", `${messages},"metadata":[`, '\n \t "a"\n', "]}"),
  ];
}

/** Chats that come near to several limits at once, of values, keys or texts, and are padded with a long text. */
function fullChatBodies(model: string): WorstBody[] {
  /** @param fields Some of the body's fields, of a size that the number decides: of at most `count`, as many as fit. */
  const body = (name: string, count: number, fields: (count: number) => string): WorstBody => ({
    name: `chat: ${name}`,
    path: "/chat/completions",
    make(maxBytes) {
      const write = (times: number, padding: number): string =>
        `{"model":"${model}","max_tokens":1,${fields(times)},"safety_identifier":"${"x".repeat(padding)}"}`;
      let times = count;
      while (write(times, 0).length > maxBytes) times = Math.floor(times / 2);
      return write(times, maxBytes - write(times, 0).length);
    },
  });
  const listOf = (count: number, element: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => element(index)).join(",");
  const messages = (count: number, message: (index: number) => string): string =>
    `"messages":[${listOf(count, message)}]`;
  const user = (content: string): string => `{"role":"user","content":${content}}`;
  /** Messages of at most 2,000 parts each. */
  const parts = (count: number, part: string): string =>
    messages(Math.ceil(count / 2_000), (index) =>
      user(`[${listOf(Math.min(2_000, count - 2_000 * index), () => part)}]`),
    );
  const hello = messages(1, () => user('"hi"'));
  const long = "x".repeat(2_000);
  const calling = (role: string): string =>
    `{"role":"${role}","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`;
  const keys = (count: number, value: string): string =>
    listOf(count, (index) => `"k${String(index).padStart(24, "0")}":${value}`);
  const tool = (parameters: string): string =>
    `{"type":"function","function":{"name":"f","parameters":{"properties":{${parameters}}}}}`;
  return [
    body("2,000 messages of 150 escapes", 2_000, (count) => messages(count, () => user(`"${"\\n".repeat(150)}"`))),
    body("2,000 messages of 4,000 letters", 2_000, (count) => messages(count, () => user(`"${long}${long}"`))),
    body("1,400 messages that call a tool", 1_400, (count) => messages(count, () => calling("assistant"))),
    body("1,400 messages, of which the last is wrong", 1_400, (count) =>
      messages(count, (index) => calling(index === count - 1 ? "nobody" : "assistant")),
    ),
    body("3,200 text parts", 3_200, (count) => parts(count, '{"type":"text","text":"a"}')),
    body("4,000 parts of 2,000 letters", 4_000, (count) => parts(count, `{"type":"text","text":"${long}"}`)),
    body("4 tools of 4,000 keys", 4_000, (count) => `${hello},"tools":[${listOf(4, () => tool(keys(count, "1")))}]`),
    body("a tool of 8,000 lists", 8_000, (count) => `${hello},"tools":[${tool(`"a":[${listOf(count, () => "[]")}]`)}]`),
    body("16,000 ignored numbers", 16_000, (count) => `${hello},"metadata":[${listOf(count, () => "-1.5e-300")}]`),
    body("8,000 ignored objects", 8_000, (count) => `${hello},"metadata":[${listOf(count, () => "{}")}]`),
    body("1,000 reasoning details of 14 fields", 1_000, (count) =>
      messages(1, () => {
        const detail = `{${listOf(14, (index) => `"k${index}":1`)}}`;
        return `{"role":"assistant","content":"a","reasoning_details":[${listOf(count, () => detail)}]}`;
      }),
    ),
  ];
}

/** Bodies of other APIs, of texts that are read, or made of other texts. */
function otherApiBodies(model: string): WorstBody[] {
  const body = (name: string, path: string, head: string, unit: string, tail: string, separator = ","): WorstBody => ({
    name: `${path}: ${name}`,
    path,
    make: (maxBytes) => filled(`{"model":"${model}",${head}`, unit, tail, { separator, maxBytes }),
  });
  const responses = (name: string, item: string): WorstBody => body(name, "/responses", '"input":[', item, "]}");
  const messages = (name: string, role: string, block: string, tail = ""): WorstBody =>
    body(
      name,
      "/messages",
      `"max_tokens":9,"messages":[{"role":"${role}","content":[${tail && TOOL_RESULT}`,
      block,
      `${tail}]}]}`,
    );
  const TOOL_RESULT = '{"type":"tool_result","tool_use_id":"a","content":[';
  const sealed = (letters: number): string => `igr1.${"A".repeat(letters)}`;
  const thinking = `{"type":"thinking","thinking":"","signature":"${sealed(6_000)}"}`;
  const document = `{"type":"document","title":"${"x".repeat(300)}","source":{"type":"text","data":"${"x".repeat(3_800)}"}}`;
  return [
    body("one sealed text", "/responses", '"input":[{"type":"reasoning","encrypted_content":"igr1.', "A", '"}]}', ""),
    responses("sealed texts", `{"type":"reasoning","encrypted_content":"${sealed(2_000)}"}`),
    responses(
      "inputs of quotes",
      `{"type":"custom_tool_call","call_id":"a","name":"b","input":"${'\\"'.repeat(2_000)}"}`,
    ),
    responses(
      "custom tools",
      `{"type":"additional_tools","tools":[{"type":"custom","name":"a","description":"${"x".repeat(4_000)}"}]}`,
    ),
    responses("searches", '{"type":"tool_search_call","arguments":""},{"type":"tool_search_output"}'),
    messages("sealed texts", "assistant", thinking),
    messages("calls", "assistant", `{"type":"tool_use","id":"a","name":"b","input":{"a":"${'\\"'.repeat(2_100)}"}}`),
    messages("documents", "user", document),
    messages("documents of a tool", "user", document, "]}"),
    body("sealed texts", "/messages/count_tokens", '"messages":[{"role":"assistant","content":[', thinking, "]}]}"),
  ];
}

/** An object or list of 25 levels. */
function nested(first: string, next: string, close: string): string {
  return first + next.repeat(24) + close;
}

function embeddingBodies(model: string): WorstBody[] {
  const path = "/embeddings";
  const before = `{"model":"${model}","input":`;
  const body = (name: string, head: string, unit: Unit, tail: string, separator = ","): WorstBody => ({
    name: `embeddings: ${name}`,
    path,
    make: (maxBytes) => filled(before + head, unit, tail, { separator, maxBytes }),
  });
  return [
    ...Object.entries(texts).map(([name, unit]) => body(`one input of ${name}`, '"', unit, '"}', "")),
    body("empty inputs", "[", '""', "]}"),
    body("short inputs", "[", '"a"', "]}"),
    body("inputs of 500 letters", "[", `"${"x".repeat(500)}"`, "]}"),
    body("token ids", "[", "1", "]}"),
    body("lists of token ids", "[", "[1,2,3]", "]}"),
    body("white space", '"a"', " ", "}", ""),
  ];
}

function promptBodies({ image, speech }: WorstBodyModels): WorstBody[] {
  const routes = [
    { path: "/images/generations", model: image, field: "prompt" },
    { path: "/image/generate", model: image, field: "prompt" },
    { path: "/audio/speech", model: speech, field: "input" },
  ];
  return routes.flatMap(({ path, model, field }) => {
    const before = `{"model":"${model}","${field}":"`;
    return [
      ...Object.entries(texts).map(([name, unit]) => ({
        name: `${path}: ${name}`,
        path,
        make: (maxBytes: number) => filled(before, unit, '"}', { separator: "", maxBytes }),
      })),
      {
        name: `${path}: ignored values`,
        path,
        make: (maxBytes: number) => filled(`${before}a","metadata":[`, "{}", "]}", { separator: ",", maxBytes }),
      },
      {
        name: `${path}: unknown fields`,
        path,
        make: (maxBytes: number) =>
          filled(`${before}a",`, (index) => `"f${index}":1`, "}", { separator: ",", maxBytes }),
      },
    ];
  });
}

/** The same for the routes that take a signed message, and the one that changes a key. */
export function worstSignedBodies(): (WorstBody & { method?: "PATCH" })[] {
  const units = {
    ...texts,
    "line ends": "\\n",
    digits: "1",
    "opening brackets": "(",
    colons: "https://a:",
    "resource lines": "\\n- https://a",
  };
  const begun =
    "gateway.example wants you to sign in with your Ethereum account:\\n0x0000000000000000000000000000000000000000\\n\\n";
  const signed = ["/auth", "/api/v1/keys", "/api/v1/keys/key_1/roll"].flatMap((path) =>
    Object.entries(units).flatMap(([name, unit]) =>
      [
        "",
        begun,
        `${begun}statement\\n\\nURI: https://gateway.example\\nVersion: 1\\nChain ID: 1\\nNonce: 12345678\\nIssued At: `,
      ].map((before, index) => ({
        name: `a message of ${name}, ${["from its start", "after its address", "for a time"][index]}`,
        path,
        make: (maxBytes: number) =>
          filled(`{"message":"${before}`, unit, '","signature":"0x"}', { separator: "", maxBytes }),
      })),
    ),
  );
  const body = (name: string, path: string, head: string, unit: Unit, tail: string, separator = ","): WorstBody => ({
    name,
    path,
    make: (maxBytes) => filled(head, unit, tail, { separator, maxBytes }),
  });
  return [
    ...signed,
    body("a long signature", "/auth", '{"message":"a","signature":"0x', "ab", '"}', ""),
    body("a signature of odd length", "/auth", '{"message":"a","signature":"0x', "ab", 'a"}', ""),
    body("unknown fields", "/auth", '{"message":"a","signature":"0x",', (index) => `"f${index}":1`, "}"),
    body("numbers", "/auth", '{"message":[', "1", "]}"),
    { ...body("a name", "/api/v1/keys/key_1", '{"name":"', "x", '"}', ""), method: "PATCH" },
    { ...body("digits", "/api/v1/keys/key_1", '{"limit":', "9", "}", ""), method: "PATCH" },
    { ...body("decimals", "/api/v1/keys/key_1", '{"limit":1.', "1", "}", ""), method: "PATCH" },
    { ...body("limits", "/api/v1/keys/key_1", '{"limit":[', '{"limit":1}', "]}"), method: "PATCH" },
    { ...body("quotes", "/api/v1/keys/key_1", '{"limit":"', '\\"limit', '"}', ""), method: "PATCH" },
  ];
}

/** A text that is repeated, or the text at each index. */
type Unit = string | ((index: number) => string);

/** As many units between head and tail as fit; at least one. */
function filled(
  head: string,
  unit: Unit,
  tail: string,
  { separator, maxBytes }: { separator: string; maxBytes: number },
): string {
  const room = maxBytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
  if (typeof unit === "string") {
    const each = Buffer.byteLength(unit) + separator.length;
    const count = Math.max(1, Math.floor((room + separator.length) / each));
    return head + (unit + separator).repeat(count - 1) + unit + tail;
  }
  const units: string[] = [];
  let left = room;
  for (let index = 0; ; index++) {
    const text = unit(index);
    left -= text.length + separator.length;
    if (left < 0 && units.length > 0) break;
    units.push(text);
  }
  return head + units.join(separator) + tail;
}
