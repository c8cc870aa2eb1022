# OpenAI for Python
# pip install openai

import os

from openai import OpenAI

client = OpenAI(
    base_url="https://gateway.example/api/v1",
    api_key=os.environ["INFERENCE_API_KEY"],
)

answer = client.chat.completions.create(
    model="MODEL",
    max_tokens=50,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)
