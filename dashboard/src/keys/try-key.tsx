import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { gatewayRequest } from "../gateway.ts";
import { Amount, Failure, Field } from "../parts.tsx";

type Answer = { choices: { message: { content: string | null } }[]; usage?: { cost_nano_usd: number } };

/** One question with a key. It is paid from the balance. */
export function TryKey({ apiKey, model }: { apiKey: string; model: string | undefined }): ReactNode {
  const [question, setQuestion] = useState("In one sentence: what is a lighthouse for?");
  const asking = useMutation({
    mutationFn: () =>
      gatewayRequest<Answer>("/api/v1/chat/completions", {
        method: "POST",
        bearer: apiKey,
        body: { model, max_tokens: 200, messages: [{ role: "user", content: question }] },
      }),
  });
  return (
    <form
      className="stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        asking.mutate();
      }}
    >
      <Field label="Try it: ask something">
        {(props) => <input {...props} value={question} onChange={({ target }) => setQuestion(target.value)} />}
      </Field>
      <div className="row">
        <button type="submit" disabled={model === undefined || asking.isPending || question.trim() === ""}>
          {asking.isPending ? "Waiting for the answer …" : "Ask"}
        </button>
      </div>
      <div aria-live="polite">
        {asking.data === undefined ? null : (
          <div className="note good">
            <p id="answer">{asking.data.choices[0]?.message.content}</p>
            {asking.data.usage === undefined ? null : (
              <p className="small quiet">
                This cost <Amount nanoUsd={asking.data.usage.cost_nano_usd} />.
              </p>
            )}
          </div>
        )}
      </div>
      {asking.error === null ? null : <Failure error={asking.error} />}
    </form>
  );
}
