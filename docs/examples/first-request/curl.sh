# curl

curl https://gateway.example/api/v1/chat/completions \
  -H "Authorization: Bearer $INFERENCE_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "model": "MODEL",
    "max_tokens": 50,
    "messages": [{ "role": "user", "content": "Hello" }]
  }'
