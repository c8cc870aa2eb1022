import examples from "./generated/examples.json" with { type: "json" };
import type { DocumentedGateway } from "./operation.ts";
import { type ExampleTerms, filledIn } from "./snippets.ts";

export type SkillTerms = ExampleTerms & Pick<DocumentedGateway, "hasRelay">;

/** /skill.md: the way from a wallet's dollars to an answer, for agents that have HTTP and a signing function. */
export function makeSkill(terms: SkillTerms): string {
  const payment = examples[terms.hasRelay ? "skill/by-signature.md" : "skill/by-transaction.md"];
  const [needs = ""] = payment.split("\n## ", 1);
  const text = examples["skill/skill.md"].replace("NEEDS", () => needs.trim());
  return `${filledIn(
    text.replace("STEPS", () => payment.slice(needs.length).trim()),
    terms,
  )}\n`;
}

/** The skill without its name and description, with its headings one level lower. */
export function skillSteps(terms: SkillTerms): string {
  const [, , body = ""] = makeSkill(terms).split(/^---\n/m);
  return body.trim().replaceAll(/^#(?=#* )/gm, "##");
}
