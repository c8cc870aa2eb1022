// fetch in a browser, streamed

// A key in a page is everybody's who opens it: use one with a small limit.
async function chat(apiKey, content, onText) {
  const answer = await fetch(
    "https://gateway.example/api/v1/chat/completions",
    {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        model: "MODEL",
        max_tokens: 50,
        stream: true,
        messages: [{ role: "user", content }],
      }),
    },
  );
  if (!answer.ok) throw new Error((await answer.json()).error.message);
  // @ts-expect-error: an answer with status 200 has a body
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    // @ts-expect-error: split returns at least one line
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
      const event = JSON.parse(line.slice(6));
      if (event.error) throw new Error(event.error.message);
      onText(event.choices[0]?.delta.content ?? "");
    }
  }
}
