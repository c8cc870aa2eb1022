/**
 * The answers of a provider that take the most work to read, for tests of what one customer's answers cost the others.
 * Each answer is made while it is sent, so a test never holds one whole.
 */
export type WorstAnswer = {
  name: string;
  path: string;
  /** The request for the answer. */
  request: object;
  contentType: string;
  /** The answer's bytes, as text of ASCII characters. */
  body(): Iterable<string>;
};

const CHUNK = 64 * 1024;

/** @param megabytes The size of those that have no size of their own. */
export function worstAnswers(megabytes: number): WorstAnswer[] {
  const bytes = megabytes * 1_000_000;
  const embeddings = { path: "/v1/embeddings", request: { model: "sim-embedding", input: "x" } };
  const chat = {
    path: "/v1/chat/completions",
    request: { model: "sim-small", max_tokens: 10, messages: [{ role: "user", content: "x" }] },
  };
  const images = { path: "/v1/images/generations", request: { model: "sim-image", prompt: "x" } };
  const image = { path: "/v1/image/generate", request: { model: "sim-image", prompt: "x" } };
  const json = "application/json";
  const vector = (count: number): string =>
    JSON.stringify({
      object: "embedding",
      index: 0,
      embedding: Array.from({ length: count }, (_, index) => Math.sin(index)),
    });
  const token = { token: " a", logprob: -0.123456, bytes: [32, 97] };
  const logprobs = JSON.stringify({ ...token, top_logprobs: Array(20).fill(token) });
  const message = '"index":0,"message":{"role":"assistant","content":"hi"}';
  const usage = ',"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}';
  const deep = 100_000;
  return [
    {
      name: "embeddings of 3,072 numbers",
      ...embeddings,
      contentType: json,
      body: () => list('{"object":"list","data":[', vector(3_072), `]${usage}`, bytes),
    },
    {
      name: "many embeddings of two numbers",
      ...embeddings,
      contentType: json,
      body: () => list('{"object":"list","data":[', vector(2), `]${usage}`, bytes),
    },
    {
      name: "log probabilities",
      ...chat,
      contentType: json,
      body: () => list(`{"id":"a","choices":[{${message},"logprobs":{"content":[`, logprobs, `]}}]${usage}`, bytes),
    },
    {
      name: "one giant string",
      ...chat,
      contentType: json,
      body: () => repeat('{"choices":[{"index":0,"message":{"content":"', "x", `"}}]${usage}`, bytes),
    },
    {
      name: "a string of escapes alone",
      ...chat,
      contentType: json,
      body: () => repeat('{"choices":[{"index":0,"message":{"content":"', '\\"\\u0041', `"}}]${usage}`, bytes),
    },
    {
      name: "many small choices",
      ...chat,
      contentType: json,
      body: () => list('{"choices":[', `{${message}}`, `]${usage}`, bytes),
    },
    ...["1", "{}", '""', "[]"].flatMap((element) => [
      {
        name: `choices that are ${element}`,
        ...chat,
        contentType: json,
        body: () => list('{"choices":[', element, `]${usage}`, bytes),
      },
      {
        name: `images that are ${element}`,
        ...images,
        contentType: json,
        body: () => list('{"data":[', element, "]}", bytes),
      },
    ]),
    {
      name: "choices just small enough to be parsed",
      ...chat,
      contentType: json,
      body: () => list('{"choices":[', `{${message},"x":[${"0,".repeat(16_000)}0]}`, `]${usage}`, bytes),
    },
    {
      name: "brackets 100,000 deep",
      ...chat,
      contentType: json,
      body: () => [`{"choices":[{${message}},${"[".repeat(deep)}`, `${"]".repeat(deep)}]${usage}`],
    },
    {
      name: "members that nobody asked for",
      ...chat,
      contentType: json,
      body: () => list(`{"choices":[{${message}}],"x":0,`, '"member":{"a":[1,2,3]}', usage, bytes),
    },
    {
      name: "a small answer just small enough to be parsed at once",
      ...chat,
      contentType: json,
      body: () => [`{"choices":[{${message},"x":[${"[],".repeat(21_000)}0]}]${usage}`],
    },
    {
      name: "an image of 20 MB in base64",
      ...images,
      contentType: json,
      body: () => repeat('{"created":1,"data":[{"b64_json":"', "iVBORw0KGgo+/AAA", '"}]}', 27_000_000),
    },
    {
      name: "an image of 20 MB as bytes",
      ...image,
      request: { ...image.request, return_binary: true },
      contentType: "image/png",
      body: () => repeat("", "x", "", 20_000_000),
    },
  ];
}

function* list(head: string, element: string, tail: string, bytes: number): Iterable<string> {
  const each = `${element},`;
  const piece = each.repeat(Math.max(1, Math.floor(CHUNK / each.length)));
  yield head;
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
  yield element + tail;
}

function* repeat(head: string, unit: string, tail: string, bytes: number): Iterable<string> {
  const piece = unit.repeat(Math.ceil(CHUNK / unit.length));
  yield head;
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
  yield tail;
}
