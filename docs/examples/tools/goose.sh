export GOOSE_PROVIDER=openai GOOSE_MODEL=MODEL
export OPENAI_HOST=https://gateway.example OPENAI_BASE_PATH=v1/chat/completions
export OPENAI_API_KEY=$INFERENCE_API_KEY
