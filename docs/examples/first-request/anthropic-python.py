# Anthropic for Python
# pip install anthropic

import os

from anthropic import Anthropic

client = Anthropic(
    base_url="https://gateway.example/api",
    api_key=os.environ["INFERENCE_API_KEY"],
)

message = client.messages.create(
    model="MODEL",
    max_tokens=50,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)
