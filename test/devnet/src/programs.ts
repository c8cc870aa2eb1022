import type { FileName } from "./folder.ts";

export type Program = {
  /** The name in messages. */
  name: string;
  /** A TypeScript file, run by the Node that runs the devnet. */
  script: URL;
  log: FileName;
  /** The first line that matches says that the program works; its first group is the program's answer. */
  ready?: RegExp;
  /** The end of this program ends no other. */
  mayEnd?: boolean;
};

const at = (path: string): URL => new URL(path, import.meta.url);
const chain = (name: string, log: FileName): Program => ({ name, script: at("run-program.ts"), log });

/** The devnet's child processes. */
export const programs = {
  primary: chain("primary chain", "primary.log"),
  secondary1: chain("secondary chain 1", "secondary1.log"),
  secondary2: chain("secondary chain 2", "secondary2.log"),
  provider: {
    name: "provider simulator",
    script: at("../../provider-simulator/src/main.ts"),
    log: "provider.log",
    ready: /^provider simulator ready at (\S+)$/,
  },
  gateway: {
    name: "gateway",
    script: at("../../../hosts/node/src/main.ts"),
    log: "gateway.log",
    ready: /"event":"listening"/,
  },
  keeper: {
    name: "keeper",
    script: at("../../../keeper/src/main.ts"),
    log: "keeper.log",
    ready: /"event":"keeping"/,
  },
  computer: {
    name: "computer",
    script: at("../../../computer/src/main.ts"),
    log: "computer-1.log",
    ready: /"message":"Offered /,
    mayEnd: true,
  },
} as const satisfies Record<string, Program>;
