/** Whether the gateway's own document has an error for its operation; undefined for what is no operation. */
export type DocumentedErrors = (error: Answered) => boolean | undefined;
type Answered = { method: string; path: string; status: number; code: string };

type Described = { tags: string[]; responses: Record<string, { description: string }> };
type OpenApi = { paths: Record<string, Record<string, Described>> };

export async function readDocumentedErrors(url: string): Promise<DocumentedErrors> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  // Those without a parameter first: `/models/traits` is no model, and `/keys/message` no key.
  const named = Object.entries(paths).sort(([one], [other]) => Number(one.includes("{")) - Number(other.includes("{")));
  const documented = named.map(([path, methods]) => ({
    path: pattern(
      path,
      Object.values(methods).some(({ tags }) => tags.includes("Inference")),
    ),
    methods,
  }));
  return ({ method, path, status, code }) => {
    const [plain = ""] = path.split("?");
    const operation = documented.find((each) => each.path.test(plain))?.methods[method.toLowerCase()];
    return operation && (operation.responses[status]?.description.includes(`\`${code}\``) ?? false);
  };
}

/** Inference routes also exist under `/v1`, and a model's id may have slashes. */
function pattern(path: string, isInference: boolean): RegExp {
  const filled = path.replace(/\{\w+\}/g, isInference ? ".+" : "[^/]+");
  return new RegExp(`^${isInference ? filled.replace(/^\/api/, "(/api)?") : filled}$`);
}
