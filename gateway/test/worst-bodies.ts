/**
 * Request bodies that take the most work for their size, by route. Each is as large as it may be, or as large as a
 * given size: some are admissible, most are to be refused, and none may take the event loop for long.
 */
export type WorstBody = {
  name: string;
  /** Below `/v1`. */
  path: string;
  /** ASCII text of at most so many bytes, and close to it. */
  make(maxBytes: number): string;
};

/** The ids of models that the routes serve. */
export type WorstBodyModels = { chat: string; embedding: string; image: string; speech: string };

export function worstBodies({ chat, embedding, image, speech }: WorstBodyModels): WorstBody[] {
  return [
    ...chatBodies(chat),
    ...sealedBodies(chat),
    ...embeddingBodies(embedding),
    ...[
      { path: "/images/generations", model: image, field: "prompt" },
      { path: "/image/generate", model: image, field: "prompt" },
      { path: "/audio/speech", model: speech, field: "input" },
    ].map(({ path, model, field }) =>
      body({ name: "escapes", path, head: `{"model":"${model}","${field}":"`, unit: ESCAPE, tail: '"}' }),
    ),
  ];
}

const ESCAPE = "\\u00e9";

function chatBodies(model: string): WorstBody[] {
  const path = "/chat/completions";
  const before = `{"model":"${model}","max_tokens":1,"messages":[`;
  const user = (content: string): string => `{"role":"user","content":${content}}`;
  const calling = (role: string): string =>
    `{"role":"${role}","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`;
  const tools = `${before}${user('"hi"')}],"tools":[{"type":"function","function":{"name":"f","parameters":{`;
  /** Near to a limit of values or keys, and padded with a long text. */
  const full = (name: string, most: number, fields: (count: number) => string): WorstBody => ({
    name: `${path}: ${name}`,
    path,
    make(maxBytes) {
      const write = (times: number, padding: number): string =>
        `${fields(times)},"safety_identifier":"${"x".repeat(padding)}"}`;
      let times = most;
      while (write(times, 0).length > maxBytes) times = Math.floor(times / 2);
      return write(times, maxBytes - write(times, 0).length);
    },
  });
  const messages = (count: number, message: (index: number) => string): string =>
    `${before}${Array.from({ length: count }, (_, index) => message(index)).join(",")}]`;
  return [
    body({ name: "escapes", path, head: `${before}{"role":"user","content":"`, unit: ESCAPE, tail: '"}]}' }),
    body({ name: "numbers", path, head: before, unit: "1", tail: "]}", separator: "," }),
    body({ name: "short messages", path, head: before, unit: user('"a"'), tail: "]}", separator: "," }),
    body({ name: "keys", path, head: tools, unit: (index) => `"k${index}":1`, tail: "}}}]}", separator: "," }),
    full("4,000 keys of a tool", 4_000, (count) => `${tools}${keys(count)}}}}]`),
    full("1,400 messages that call a tool", 1_400, (count) => messages(count, () => calling("assistant"))),
    full("1,400 messages, of which the last is wrong", 1_400, (count) =>
      messages(count, (index) => calling(index === count - 1 ? "nobody" : "assistant")),
    ),
  ];
}

function keys(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${String(index).padStart(24, "0")}":1`).join(",");
}

/** Bodies of other APIs, of texts that are opened. */
function sealedBodies(model: string): WorstBody[] {
  const sealed = (letters: number): string => `igr1.${"A".repeat(letters)}`;
  const reasoning = `{"type":"reasoning","encrypted_content":"${sealed(2_000)}"}`;
  const thinking = `{"type":"thinking","thinking":"","signature":"${sealed(6_000)}"}`;
  const assistant = '"messages":[{"role":"assistant","content":[';
  return [
    { path: "/responses", head: '"input":[', unit: reasoning, tail: "]}" },
    { path: "/messages", head: `"max_tokens":9,${assistant}`, unit: thinking, tail: "]}]}" },
    { path: "/messages/count_tokens", head: assistant, unit: thinking, tail: "]}]}" },
  ].map(({ head, ...each }) =>
    body({ ...each, name: "sealed texts", head: `{"model":"${model}",${head}`, separator: "," }),
  );
}

function embeddingBodies(model: string): WorstBody[] {
  const head = `{"model":"${model}","input":`;
  const path = "/embeddings";
  return [
    body({ name: "escapes", path, head: `${head}"`, unit: ESCAPE, tail: '"}' }),
    body({ name: "short inputs", path, head: `${head}[`, unit: '"a"', tail: "]}", separator: "," }),
    body({ name: "token ids", path, head: `${head}[`, unit: "1", tail: "]}", separator: "," }),
  ];
}

/** The same for the routes that take a signed message, and the one that changes a key. */
export function worstSignedBodies(): (WorstBody & { method?: "PATCH" })[] {
  const begun =
    "gateway.example wants you to sign in with your Ethereum account:\\n0x0000000000000000000000000000000000000000\\n\\n" +
    "statement\\n\\nURI: https://gateway.example\\nVersion: 1\\nChain ID: 1\\nNonce: 12345678\\nIssued At: ";
  const tail = '","signature":"0x"}';
  const head = `{"message":"${begun}`;
  const limits = { name: "limits", path: "/api/v1/keys/key_1", head: '{"limit":[', unit: '{"limit":1}', tail: "]}" };
  return [
    ...["/auth", "/api/v1/keys", "/api/v1/keys/key_1/roll"].map((path) =>
      body({ name: "a message of resource lines", path, head, unit: "\\n- https://a", tail }),
    ),
    { ...body({ ...limits, separator: "," }), method: "PATCH" },
  ];
}

type Filling = {
  name: string;
  path: string;
  head: string;
  /** A text that is repeated, or the text at each index. */
  unit: string | ((index: number) => string);
  tail: string;
  separator?: string;
};

/** As many units between head and tail as fit; at least one. */
function body({ name, path, head, unit, tail, separator = "" }: Filling): WorstBody {
  const make = (maxBytes: number): string => {
    const units: string[] = [];
    let left = maxBytes - head.length - tail.length;
    for (let index = 0; ; index++) {
      const text = typeof unit === "string" ? unit : unit(index);
      left -= text.length + separator.length;
      if (left < 0 && units.length > 0) break;
      units.push(text);
    }
    return head + units.join(separator) + tail;
  };
  return { name: `${path}: ${name}`, path, make };
}
