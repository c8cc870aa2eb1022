/** Words that begin a statement or a command, strings, and remarks. */
export const TOKENS =
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|((?:^|\s)(?:#|\/\/) .*)|((?<![\w.$/-])(?:import|from|const|let|await|for|of|in|new|async|function|return|print|export|curl|infer|npx|pip|npm)(?![\w.:/=-]))/gm;

/** The class of a token that was found. */
export function classOf([, quoted, remark]: RegExpExecArray): "text" | "remark" | "word" {
  return quoted !== undefined ? "text" : remark !== undefined ? "remark" : "word";
}
