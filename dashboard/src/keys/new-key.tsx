import { codingModel } from "@inference/protocol/coding-model";
import { otherTools, toolSetups } from "@inference/protocol/tool-setups";
import type { NewApiKey } from "@inference/sdk/keys";
import { type ReactNode, useEffect, useState } from "react";
import { useModels } from "../gateway.ts";
import { Card, Field, Note } from "../parts.tsx";
import { CodeBlock } from "../parts/code.tsx";
import { TryKey } from "./try-key.tsx";

/** The new key, shown once, and its use in programs. */
export function NewKey({ made: { key, data }, done }: { made: NewApiKey; done: () => void }): ReactNode {
  const models = useModels();
  useEffect(warnWhoLeaves, []);
  const texts = models.data?.filter(({ type }) => type === "text") ?? [];
  const [chosen, choose] = useState<string>();
  const model = texts.find(({ id }) => id === chosen) ?? codingModel(texts) ?? texts[0];
  const at = {
    baseUrl: location.origin,
    model: model?.id ?? "MODEL",
    contextLength: model?.context_length ?? null,
  };
  return (
    <Card title={`Your key${data.name === "" ? "" : ` for ${data.name}`}`} className="keep">
      <Note kind="warn">
        <p>
          <strong>Copy it now: it is shown this once.</strong> Whoever has it can spend what it may. If it is lost,
          replace it below.
        </p>
      </Note>
      <CodeBlock label="API key" text={key} />
      <TryKey apiKey={key} model={model?.id} />
      <h3>Set up a program</h3>
      <div className="fields">
        <Field label="Model">
          {(props) => (
            <select {...props} value={model?.id} onChange={({ target }) => choose(target.value)}>
              {texts.map(({ id, display_name: name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <CodeBlock label="First, in the terminal" text={`export INFERENCE_API_KEY=${key}`} />
      {toolSetups(at).map(({ id, title, about, code }) => (
        <details key={id}>
          <summary>{title}</summary>
          <div className="stack tight">
            <p className="quiet">{about.replaceAll("`", "")}</p>
            <CodeBlock label={title} text={code} />
          </div>
        </details>
      ))}
      <details>
        <summary>Another program</summary>
        <div className="stack tight">
          <p className="quiet">{otherTools.replaceAll("`", "")}</p>
          <CodeBlock label="Base URL" text={`${location.origin}/v1`} />
        </div>
      </details>
      <p>
        <button type="button" className="first" onClick={done}>
          I have copied it
        </button>
      </p>
    </Card>
  );
}

/** Warns before a link or a closed tab loses the key, until the component unmounts. */
function warnWhoLeaves(): () => void {
  const ending = new AbortController();
  const onClick = (event: MouseEvent): void => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (link !== null && !confirm("The key is shown this once. Leave, and lose it if you have not copied it?")) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  document.addEventListener("click", onClick, { capture: true, signal: ending.signal });
  addEventListener("beforeunload", (event) => event.preventDefault(), { signal: ending.signal });
  return () => ending.abort();
}
