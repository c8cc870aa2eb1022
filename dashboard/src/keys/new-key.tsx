import { otherTools, toolSetups } from "@inference/protocol/tool-setups";
import type { NewApiKey } from "@inference/sdk/keys";
import { type ReactNode, useEffect, useState } from "react";
import { textModels, useModels } from "../gateway.ts";
import { requestTabs } from "../home/request-code.tsx";
import { Code, CodeBlock } from "../parts/code.tsx";
import { SelectField } from "../parts/form.tsx";
import { Button, Card, CopyButton, Note } from "../parts.tsx";

/** The new key, shown once, and its use in programs. */
export function NewKey({ made: { key, data }, done }: { made: NewApiKey; done: () => void }): ReactNode {
  useEffect(warnWhoLeaves, []);
  const { texts, first } = textModels(useModels().data);
  const [chosen, choose] = useState<string>();
  const model = texts.find(({ id }) => id === chosen) ?? first;
  const at = {
    baseUrl: location.origin,
    model: model?.id ?? "MODEL",
    contextLength: model?.context_length ?? null,
  };
  const setups = toolSetups(at);
  return (
    <Card title={`Your key${data.name === "" ? "" : ` for ${data.name}`}`} className="keep">
      <Note kind="warn">
        <strong>Copy it now: it is shown once.</strong> Whoever has it can spend up to its limit. If you lose it, rotate
        the key.
      </Note>
      <div className="row">
        <code className="wrap" id="key">
          {key}
        </code>
        <CopyButton text={key} />
        <Button text="I have copied it" className="first" act={done} />
      </div>
      <h3>Use it</h3>
      <SelectField
        label="Model"
        value={model?.id}
        options={texts.map(({ id, display_name: name }) => [id, name])}
        set={choose}
      />
      <Code tabs={requestTabs(at.model, key)} />
      <h3>Set up a tool</h3>
      <CodeBlock label="First, in the terminal" text={`export INFERENCE_API_KEY=${key}`} />
      <Code
        label="Tool"
        tabs={setups.map(({ title, code }) => ({ name: title, text: code }))}
        about={(name) => setups.find(({ title }) => title === name)?.about.replaceAll("`", "")}
      />
      <p className="hint">{otherTools.replaceAll("`", "")}</p>
    </Card>
  );
}

/** Warns before a link or a closed tab loses the key, until the component unmounts. */
function warnWhoLeaves(): () => void {
  const ending = new AbortController();
  const onClick = (event: MouseEvent): void => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (link !== null && !confirm("The key is shown once. Leave, and lose it if you have not copied it?")) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  document.addEventListener("click", onClick, { capture: true, signal: ending.signal });
  addEventListener("beforeunload", (event) => event.preventDefault(), { signal: ending.signal });
  return () => ending.abort();
}
