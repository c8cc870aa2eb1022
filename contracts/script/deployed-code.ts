import type { Hex } from "viem";

/** An immutable in creation code is a PUSH32 of zero: the constructor writes its value into the code it returns. */
const IMMUTABLE = `7f${"0".repeat(64)}`;
/** The first bytes of a contract's code, which hold no immutable. */
const START_LENGTH = 64;

/** Whether a contract with `code` was deployed by `creationCode`: all bytes are equal but those of immutables. */
export function isCodeOf(code: Hex, creationCode: Hex): boolean {
  const deployed = code.slice(2).toLowerCase();
  const start = deployed.slice(0, START_LENGTH);
  const created = creationCode.toLowerCase();
  for (let at = created.indexOf(start); at !== -1; at = created.indexOf(start, at + 1)) {
    if (isEqualButForImmutables(deployed, created.slice(at, at + deployed.length))) return true;
  }
  return false;
}

function isEqualButForImmutables(deployed: string, created: string): boolean {
  if (deployed.length !== created.length) return false;
  let at = 0;
  return created.split(IMMUTABLE).every((part) => {
    const isEqual = deployed.startsWith(part, at);
    at += part.length + IMMUTABLE.length;
    return isEqual;
  });
}
