# LangChain for Python
# pip install langchain-openai

import os

from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    base_url="https://gateway.example/api/v1",
    api_key=os.environ["INFERENCE_API_KEY"],
    model="MODEL",
    max_tokens=50,
)
print(model.invoke("Hello").content)
