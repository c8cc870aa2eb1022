import * as z from "zod";
import { type Command, command } from "../command.ts";
import { completionOf, type Shell, shells } from "../completion.ts";

/** @param listed The commands to complete, once all are declared. */
export const completionFor = (listed: () => readonly Command[]): Command =>
  command({
    name: "completion",
    about: "print a script that completes commands in your shell",
    more:
      'bash: add eval "$(infer completion bash)" to ~/.bashrc. zsh: the same with zsh in ~/.zshrc, after compinit. fish: ' +
      "infer completion fish > ~/.config/fish/completions/infer.fish",
    arguments: { shell: { about: `one of ${shells.join(", ")}`, choices: shells } },
    options: {},
    isVerbatim: true,
    output: z.strictObject({ shell: z.enum(shells), script: z.string() }),
    async run(_, { arguments: { shell } }) {
      return { shell: shell as Shell, script: completionOf(shell as Shell, listed()) };
    },
    text: ({ script }) => script,
  });
