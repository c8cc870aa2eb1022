/** What a check found. */
export type Found = {
  outcome: "pass" | "fail" | "skipped";
  /** What was found, or why it was skipped. */
  detail: string;
  /** Whom the outcome rests on. */
  trusts: readonly string[];
};

export function passed(detail: string, trusts: readonly string[] = []): Found {
  return { outcome: "pass", detail, trusts };
}

export function failed(detail: string, trusts: readonly string[] = []): Found {
  return { outcome: "fail", detail, trusts };
}

export function skipped(detail: string, trusts: readonly string[] = []): Found {
  return { outcome: "skipped", detail, trusts };
}
