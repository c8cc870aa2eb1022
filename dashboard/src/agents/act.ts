import type { SendOptions } from "@inference/sdk/send";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

/** A button's action that asks the wallet, and afterwards reads everything about agents again. */
export type Act<T> = {
  start: (given: T) => void;
  isPending: boolean;
  /** While it is pending: what the reader waits for. */
  waits: string;
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
    onSettled: () => queries.invalidateQueries({ queryKey: [AGENTS] }),
  });
  return { start: mutate, isPending, waits, error };
}

const LOOK = "Look at your wallet …";

/** The first part of every query key of these pages. */
export const AGENTS = "agents";
