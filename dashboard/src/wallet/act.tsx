import type { SendOptions } from "@inference/sdk/send";
import { type UseQueryResult, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Form } from "../parts/form.tsx";
import { Button, Failure } from "../parts.tsx";

/** The first part of the query keys of what acts change on the chains. */
export const ON_CHAIN = "on chain";

/** Reads what acts change, and again after each act. @param everyMs False: only then. */
export function useOnChain<T>(
  name: readonly unknown[],
  read: () => Promise<T>,
  everyMs: number | false = 30_000,
): UseQueryResult<T> {
  return useQuery({ queryKey: [ON_CHAIN, ...name], queryFn: read, refetchInterval: everyMs });
}

/** A button's action that asks the wallet, and afterwards reads what is on the chains again. */
type Act<T> = {
  start: (given: T) => void;
  /** What the reader waits for; false: nothing. */
  waits: string | false;
  error: unknown;
};

export function useAct<T, R>(run: (given: T, options: SendOptions) => Promise<R>, done?: (result: R) => void): Act<T> {
  const queries = useQueryClient();
  const [waits, say] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: (given: T) => {
      say(LOOK);
      return run(given, {
        onProgress: ({ stage }) => say(stage === "sent" ? "Sent, waiting for its block …" : LOOK),
      });
    },
    onSuccess: (result) => done?.(result),
    onSettled: () => queries.invalidateQueries({ queryKey: [ON_CHAIN] }),
  });
  return { start: mutate, waits: isPending && waits, error };
}

/** While the wallet asks its owner. */
export const LOOK = "Look at your wallet …";

/** A form whose button asks the wallet. `start` is null while the form is not complete. */
export function ActForm({ act, label, start, more, children }: ActFormParts): ReactNode {
  return (
    <Form className="stack" submit={() => start?.()}>
      {children}
      <div className="row">
        <Button text={label} waits={act.waits} className="first" disabled={start === null} />
        {more}
      </div>
      <Failure error={act.error} />
    </Form>
  );
}
type ActFormParts = {
  act: Pick<Act<never>, "waits" | "error">;
  label: string;
  start: (() => void) | null;
  /** Other buttons. */
  more?: ReactNode;
  children: ReactNode;
};
