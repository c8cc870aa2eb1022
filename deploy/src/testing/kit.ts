import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

/** The kit's files, read for its tests. */
export const kit = fileURLToPath(new URL("../../", import.meta.url));
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The text of a file of the kit. */
export function read(name: string): string {
  return readFileSync(kit + name, "utf8");
}

export type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } };

/** The alert rules. */
export function rules(): Rule[] {
  const { groups } = parse(read("prometheus/alerts.yml")) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export type Panel = {
  id: number;
  title: string;
  datasource: { uid: string };
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr: string }[];
};

/** The panels of the dashboard. */
export function panels(): Panel[] {
  return (JSON.parse(read("grafana/dashboard.json")) as { panels: Panel[] }).panels;
}

export type DockerStep = { stage: string; word: string; rest: string };

/** The instructions of the Dockerfile, with the name of their stage; the last stage is `""`. */
export function dockerSteps(): DockerStep[] {
  const lines = read("Dockerfile").replaceAll("\\\n", " ").split("\n");
  let stage = "";
  return lines.flatMap((line) => {
    const [, word = "", rest = ""] = /^([A-Z]+) +(.+)$/.exec(line) ?? [];
    if (word === "FROM") stage = / AS (\w+)$/.exec(rest)?.[1] ?? "";
    return word === "" ? [] : [{ stage, word, rest }];
  });
}
