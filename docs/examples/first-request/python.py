# Python without packages, streamed

import json
import os
import urllib.request

request = urllib.request.Request(
    "https://gateway.example/api/v1/chat/completions",
    headers={
        "Authorization": "Bearer " + os.environ["INFERENCE_API_KEY"],
        "Content-Type": "application/json",
    },
    data=json.dumps({
        "model": "MODEL",
        "max_tokens": 50,
        "stream": True,
        "messages": [{"role": "user", "content": "Hello"}],
    }).encode(),
)
with urllib.request.urlopen(request) as answer:
    for line in answer:
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        if "error" in event:
            raise SystemExit(event["error"]["message"])
        for choice in event["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)
print()
