/** Every error body the provider is known to send. Shapes differ on purpose: that is what its clients meet. */

export interface WireAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by a handler to answer with an error. */
export class WireError extends Error {
  readonly answer: WireAnswer;
  constructor(answer: WireAnswer) {
    super(`HTTP ${answer.status}`);
    this.answer = answer;
  }
}

export function plainError(status: number, error: string): WireAnswer {
  return { status, body: { error } };
}

/** Schema errors: `field` null for the body itself. */
export function schemaError(field: string | null, message: string, code = "custom"): WireAnswer {
  const details = field === null ? { _errors: [message] } : { _errors: [], [field]: { _errors: [message] } };
  const issues = [{ code, path: field === null ? [] : [field], message }];
  return { status: 400, body: { error: "Invalid request parameters", details, issues } };
}

export function unrecognizedKeys(keys: readonly string[]): WireAnswer {
  const message = `Unrecognized key(s) in object: ${keys.map((key) => `'${key}'`).join(", ")}`;
  const issues = [{ code: "unrecognized_keys", keys, path: [], message }];
  return { status: 400, body: { error: "Invalid request parameters", details: { _errors: [message] }, issues } };
}

export function openaiError(message: string, param: string | null, code: string): WireAnswer {
  return { status: 400, body: { error: { message, type: "invalid_request_error", param, code } } };
}

export const ADMIN_KEY_REQUIRED = plainError(401, "Admin API key required");
export const AUTHENTICATION_FAILED = plainError(401, "Authentication failed");
export const JSON_TYPE_REQUIRED = plainError(400, "'Content-Type' must be 'application/json'");
export const NOT_FOUND = plainError(404, "Not Found");
export const PAYLOAD_TOO_LARGE: WireAnswer = {
  status: 413,
  body: { code: "PAYLOAD_TOO_LARGE", error: "The request body is too large." },
};
export const INSUFFICIENT_BALANCE = plainError(
  402,
  "Insufficient USD or Diem balance to complete request. Visit the API settings page to add credits.",
);
export const USD_LIMIT_EXCEEDED = plainError(
  402,
  "API key USD spend limit exceeded. Raise the limit or wait for reset.",
);
export const DIEM_LIMIT_EXCEEDED = plainError(
  402,
  "API key DIEM spend limit exceeded. Raise the limit or wait for reset.",
);
export const CONTENT_POLICY: WireAnswer = {
  status: 422,
  body: {
    error: "Your prompt violates the content policy of the provider or model",
    suggested_prompt: "A quiet harbour at dawn",
  },
};
/** FastAPI's shape. */
export const FIELD_ERRORS: WireAnswer = {
  status: 422,
  body: {
    detail: [
      {
        type: "less_than_equal",
        loc: ["body", "temperature"],
        msg: "Input should be less than or equal to 2",
        input: 9,
      },
    ],
  },
};
export const PROMPT_FLAGGED: WireAnswer = {
  status: 403,
  body: {
    error: {
      code: 403,
      message: "The model requires moderation. Your input was flagged.",
      metadata: { reasons: ["violence"], flagged_input: "...", provider_name: "simulator" },
    },
  },
};
export const PRO_ONLY_MODEL: WireAnswer = {
  status: 401,
  body: { error: "This model is only available to Pro users", code: "PRO_ONLY_MODEL" },
};
export const RATE_LIMITED = plainError(429, "Rate limit exceeded");
export const MODEL_OVERLOADED: WireAnswer = {
  status: 429,
  body: { error: "The model is currently overloaded. Please try again later." },
  headers: { "retry-after": "30" },
};
export const MODEL_OFFLINE = plainError(503, "The model is currently offline");
export const AT_CAPACITY = plainError(503, "The model is at capacity. Please try again later.");
export const INFERENCE_FAILED = plainError(500, "Inference processing failed");
export const REQUEST_TIMEOUT = plainError(
  504,
  "The request took too long to process. Use stream=true for long requests.",
);

export function errorBudgetSpent(threshold: number): WireAnswer {
  return plainError(
    429,
    `Too many failed attempts (> ${threshold}) resulting in a non-success status code. Please wait 30s and try again.`,
  );
}

export function modelNotFound(suggestion: string | null): WireAnswer {
  const hint = suggestion === null ? "" : ` Did you mean '${suggestion}'?`;
  return plainError(404, `Specified model not found.${hint} Please view the available models.`);
}

/** Sent when there is no credential at all: a 402, not a 401. */
export function paymentDiscovery(resource: string): WireAnswer {
  const network = "eip155:8453";
  return {
    status: 402,
    body: {
      x402Version: 2,
      error: "Authentication required",
      resource: { url: resource, description: "Provider API", mimeType: "application/json" },
      accepts: [
        {
          scheme: "exact",
          network,
          asset: "0x0000000000000000000000000000000000000001",
          amount: "10000000",
          payTo: "0x0000000000000000000000000000000000000002",
          maxTimeoutSeconds: 300,
          extra: {},
        },
      ],
      extensions: {
        "sign-in-with-x": {
          info: { domain: "provider.example", statement: "Sign in to the provider" },
          supportedChains: [{ chainId: network, type: "eip191" }],
        },
      },
      authOptions: {
        apiKey: { header: "Authorization: Bearer YOUR_API_KEY", getKey: "https://provider.example/keys", docs: "" },
        x402Wallet: {
          header: "SIGN-IN-WITH-X",
          legacyHeader: "X-Sign-In-With-X",
          topUp: "POST /api/v1/x402/top-up",
          docs: "",
        },
      },
    },
  };
}

export const WALLET_LOW: WireAnswer = {
  status: 402,
  body: {
    error: "Payment required",
    code: "PAYMENT_REQUIRED",
    reason: "insufficient_balance",
    currentBalanceUsd: 0.01,
    minimumBalanceUsd: 0.1,
    suggestedTopUpUsd: 10,
    minimumTopUpUsd: 5,
    supportedTokens: ["USDC"],
    supportedChains: ["base", "solana"],
    topUpInstructions: {},
    siwxChallenge: {},
  },
};
