import * as Keystore from "ox/Keystore";
import { type Hex, isHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";

/**
 * The private key in a keystore of version 3, as Foundry writes it (`cast wallet new`). Undefined if the text is no
 * keystore, or the password does not open it. Never throws: what the parts throw could repeat a secret.
 */
export async function openKeystore(text: string, password: string): Promise<Hex | undefined> {
  try {
    const keystore = JSON.parse(text) as Keystore.Keystore;
    const key = Keystore.decrypt(keystore, await Keystore.toKeyAsync(keystore, { password }));
    return isPrivateKey(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** 32 bytes that are a key of the curve. */
export function isPrivateKey(text: string): text is Hex {
  if (!isHex(text) || text.length !== 66) return false;
  try {
    return privateKeyToAddress(text) !== undefined;
  } catch {
    return false;
  }
}
