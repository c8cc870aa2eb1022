import type { Command } from "./command.ts";
import { commonOptions } from "./parse.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The words that can follow a line's words, each with a description. */
type Place = { after: string; words: { word: string; about: string }[] };

/** A script that completes commands, options and named values. It is made of the commands' declarations. */
export function completionOf(shell: Shell, commands: readonly Command[]): string {
  return { bash, zsh, fish }[shell](placesOf(commands));
}

function placesOf(commands: readonly Command[]): Place[] {
  const groups = [...new Set(commands.flatMap(({ name }) => (name.includes(" ") ? [name.split(" ")[0] ?? ""] : [])))];
  const next = (after: string): Place["words"] => {
    const depth = after === "" ? 0 : 1;
    const below = commands.filter(({ name }) => after === "" || name.startsWith(`${after} `));
    const words = below.map(({ name, about }) => {
      const word = name.split(" ")[depth] ?? "";
      return { word, about: depth === 0 && groups.includes(word) ? `commands for ${word}` : about };
    });
    return [...new Map(words.map((each) => [each.word, each])).values()];
  };
  const own = commands.map(({ name, options, arguments: args }) => ({
    after: name,
    words: [
      ...Object.values(args).flatMap(({ choices = [] }) => choices.map((word) => ({ word, about: name }))),
      ...Object.entries({ ...options, ...commonOptions }).map(([flag, { about }]) => ({ word: `--${flag}`, about })),
    ],
  }));
  return [...own, ...["", ...groups].map((after) => ({ after, words: next(after) }))];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The longest matching words come first. */
function casesOf(places: readonly Place[], line: (place: Place) => string): string {
  const sorted = [...places].sort((one, other) => other.after.length - one.after.length);
  return sorted
    .map((place) => {
      const pattern = place.after === "" ? "''" : `${quoted(place.after)}|${quoted(`${place.after} `)}*`;
      return `    ${pattern}) ${line(place)} ;;`;
    })
    .join("\n");
}

function bash(places: readonly Place[]): string {
  return `_infer() {
  local words="" current="\${COMP_WORDS[COMP_CWORD]}" line="\${COMP_WORDS[*]:1:COMP_CWORD-1}"
  case "$line" in
${casesOf(places, ({ words }) => `words=${quoted(words.map(({ word }) => word).join(" "))}`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _infer infer
`;
}

function zsh(places: readonly Place[]): string {
  const described = ({ word, about }: Place["words"][number]): string => quoted(`${word}:${about}`);
  return `#compdef infer
_infer() {
  local -a found
  local line="\${(j: :)words[2,CURRENT-1]}"
  case "$line" in
${casesOf(places, ({ words }) => `found=(${words.map(described).join(" ")})`)}
  esac
  _describe -o infer found || _files
}
compdef _infer infer
`;
}

function fish(places: readonly Place[]): string {
  const rule = (after: string, { word, about }: Place["words"][number]): string => {
    const candidate = word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${quoted(word)}`;
    return `complete -c infer -n ${quoted(`__infer_after ${quoted(after)}`)} ${candidate} -d ${quoted(about)}`;
  };
  return `function __infer_after
  set -l line (commandline -opc)[2..]
  set -l text (string join ' ' -- $line)
  test "$text" = "$argv[1]"; or begin
    test -n "$argv[1]"; and string match -q -- "$argv[1] *" "$text"
  end
end
complete -c infer -f
${places.flatMap(({ after, words }) => words.map((each) => rule(after, each))).join("\n")}
`;
}
