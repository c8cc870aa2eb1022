import { createKeccak } from "hash-wasm";
import { type Keccak, pureKeccak } from "./merkle-tree.ts";

/** The fast Keccak-256. Where WebAssembly cannot be compiled, as in a Worker at run time, it is {@link pureKeccak}. */
export async function makeKeccak(create = createKeccak): Promise<Keccak> {
  try {
    const hasher = await create(256);
    return (bytes) => {
      hasher.init();
      hasher.update(bytes);
      return hasher.digest("binary");
    };
  } catch {
    return pureKeccak;
  }
}
