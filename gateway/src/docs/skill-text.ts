import examples from "./generated/examples.json" with { type: "json" };
import { type ExampleTerms, filledIn } from "./snippets.ts";

/** /skill.md: the way from a wallet's dollars to an answer, for agents that have HTTP and a signing function. */
export function makeSkill(terms: ExampleTerms): string {
  return `${filledIn(examples["skill.md"], terms)}\n`;
}

/** The skill without its name and description, with its headings one level lower. */
export function skillSteps(terms: ExampleTerms): string {
  const [, , body = ""] = makeSkill(terms).split(/^---\n/m);
  return body.trim().replaceAll(/^#(?=#* )/gm, "##");
}
