export declare const flags: Readonly<Record<string, readonly string[]>>;
export declare function flagsTakenByNpm(
  script: string,
  environment: Readonly<Record<string, string | undefined>>,
): string[];
