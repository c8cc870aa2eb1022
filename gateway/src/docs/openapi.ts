import { type ErrorCode, errorTable } from "@inference/protocol/errors";
import { ownValue } from "@inference/protocol/own-value";
import { errorAnswer } from "@inference/protocol/wire/answers";
import { messagesErrorAnswer } from "@inference/protocol/wire/messages";
import * as z from "zod";
import manifest from "../../package.json" with { type: "json" };
import { type Credential, type NamedSchema, type Operation, operationGroups } from "./operation.ts";

export type JsonSchema = Record<string, unknown>;

/** A parameter of an operation, as OpenAPI describes it. */
export type Parameter = { name: string; in: string; required: boolean; description?: unknown; schema: JsonSchema };

export const apiInfo = {
  title: "Inference gateway",
  version: manifest.version,
  description:
    "An OpenAI-compatible API, paid from a prepaid balance in dollars. Every request reserves the most it can cost, and " +
    "is charged what it used. What is under Inference is the same under `/v1`, as are `credits`, `key`, `generation` and " +
    "`activity`.",
};

/** The OpenAPI 3.1 document, from the schemas that check bodies and queries and from the table of all errors. */
export function makeOpenApi(operations: readonly Operation[], baseUrl: string) {
  const schemas: Record<string, JsonSchema> = {
    Error: jsonSchema(errorAnswer, "output"),
    MessagesError: jsonSchema(messagesErrorAnswer, "output"),
  };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    paths[operation.path] = {
      ...ownValue(paths, operation.path),
      [operation.method.toLowerCase()]: describe(operation, schemas),
    };
  }
  return {
    openapi: "3.1.0",
    info: apiInfo,
    servers: [{ url: baseUrl }],
    tags: operationGroups.map((name) => ({ name })),
    paths,
    components: { schemas, securitySchemes },
  };
}

/** The parameters of an operation in its path, its query and its headers. */
export function parametersOf({ pathParameters = {}, query, headers = {} }: Operation): Parameter[] {
  return [
    ...parametersIn("path", texts(pathParameters)),
    ...(query === undefined ? [] : parametersIn("query", query)),
    ...parametersIn("header", texts(headers).partial()),
  ];
}

export function jsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io, unrepresentable: "any" });
  return rest;
}

const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", bearerFormat: "ik_...", description: "An API key." },
  session: { type: "http", scheme: "bearer", bearerFormat: "is_... or ia_...", description: "A session's token." },
  operator: { type: "http", scheme: "bearer", description: "METRICS_TOKEN." },
};
const schemeOf: Record<Credential, keyof typeof securitySchemes> = {
  "API key": "apiKey",
  session: "session",
  "operator's token": "operator",
};

/** An operation in OpenAPI's form. JSON leaves its undefined members out. */
function describe(operation: Operation, schemas: Record<string, JsonSchema>): object {
  const { body, bodyMediaTypes = ["application/json"], credentials, id, title, about, group, answers } = operation;
  const parameters = parametersOf(operation);
  return {
    operationId: id,
    tags: [group],
    summary: title,
    description: about,
    security: credentials.map((credential) => ({ [schemeOf[credential]]: [] })),
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: body && {
      required: true,
      content: contentOf(Object.fromEntries(bodyMediaTypes.map((type) => [type, body])), "input", schemas),
    },
    responses: {
      ...Object.fromEntries(
        answers.map(({ status, about, content }) => [
          status,
          { description: about, content: contentOf(content, "output", schemas) },
        ]),
      ),
      ...errorResponses(operation),
    },
  };
}

function parametersIn(where: string, schema: z.ZodObject): Parameter[] {
  const { properties = {} } = jsonSchema(schema, "output") as { properties?: Record<string, JsonSchema> };
  // The output always has a parameter with a default, and the input need not.
  const { required = [] } = jsonSchema(schema, "input") as { required?: string[] };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: where,
    required: required.includes(name),
    description,
    schema,
  }));
}

function texts(descriptions: Readonly<Record<string, string>>) {
  const entries = Object.entries(descriptions).map(([name, text]) => [name, z.string().describe(text)] as const);
  return z.object(Object.fromEntries(entries));
}

/** One response for each status, naming its codes. */
function errorResponses({ errors, errorSchema = "Error", errorStatuses }: Operation): Record<number, unknown> {
  const statusesOf = errorStatuses ?? ((code: ErrorCode) => [errorTable[code].status]);
  const all = [...new Set(errors)].flatMap((code) => statusesOf(code).map((status) => ({ code, status })));
  return Object.fromEntries(
    [...Map.groupBy(all, ({ status }) => status)].map(([status, own]) => [
      status,
      {
        description: own.map(({ code }) => `\`${code}\``).join(", "),
        content: { "application/json": { schema: { $ref: `#/components/schemas/${errorSchema}` } } },
      },
    ]),
  );
}

/** A content by media type. Each schema goes into `schemas`, and the content names it. */
function contentOf(
  content: Readonly<Record<string, NamedSchema | null>>,
  io: "input" | "output",
  schemas: Record<string, JsonSchema>,
): object | undefined {
  const entries = Object.entries(content).map(([mediaType, named]) => {
    if (named === null) return [mediaType, {}];
    schemas[named.name] = ownValue(schemas, named.name) ?? jsonSchema(named.schema, io);
    return [mediaType, { schema: { $ref: `#/components/schemas/${named.name}` } }];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
