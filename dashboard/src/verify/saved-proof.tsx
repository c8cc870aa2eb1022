import type { Evidence } from "@inference/sdk/verify/evidence";
import { judge } from "@inference/sdk/verify/judge";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Field } from "../parts/form.tsx";
import { Card, Failure } from "../parts.tsx";
import { AccountVerdict } from "./account-verdict.tsx";

/** Judges a saved proof, without a network. */
export function SavedProof(): ReactNode {
  const judging = useMutation({
    mutationFn: async (text: string) => {
      const evidence = JSON.parse(text) as Evidence;
      if (evidence.version !== 4) throw new Error("It is of another version.");
      return { ...(await judge(evidence, { isBundle: true })), evidence };
    },
  });
  return (
    <>
      <Card title="A saved proof">
        <p className="quiet">
          A file from “Save proof”, <code>infer verify --save</code> or <code>infer bill</code>. This browser judges it
          and sends it nowhere. Its maker is believed for what the chain says; <code>infer verify FILE --rpc URL</code>{" "}
          asks a node of yours.
        </p>
        <Field label="The file">
          {(props) => <FileInput {...props} accept="application/json,.json" onText={judging.mutate} />}
        </Field>
        {judging.error === null ? null : (
          <Failure error={new Error("This file is no proof of this version. Save it again with this release.")} />
        )}
      </Card>
      <div className="contents" aria-live="polite">
        {judging.data === undefined ? null : <AccountVerdict {...judging.data} />}
      </div>
    </>
  );
}

export function FileInput({ onText, ...props }: FileParts): ReactNode {
  const read = async (file: File | undefined) => file !== undefined && onText(await file.text());
  return <input {...props} type="file" onChange={({ target }) => void read(target.files?.[0])} />;
}
type FileParts = { onText: (text: string) => void; accept: string; id: string };
