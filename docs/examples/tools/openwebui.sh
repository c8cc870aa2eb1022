export OPENAI_API_BASE_URL=https://gateway.example/v1
export OPENAI_API_KEY=$INFERENCE_API_KEY
