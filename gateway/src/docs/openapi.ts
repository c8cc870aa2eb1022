import { type ErrorCode, errorTable } from "@inference/protocol/errors";
import * as z from "zod";
import {
  type Credential,
  type NamedSchema,
  type Operation,
  type OperationAnswer,
  operationGroups,
} from "./operation.ts";

export type JsonSchema = Record<string, unknown>;

/** The parts of an OpenAPI document that the page is made from. */
export type OpenApi = {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, unknown> };
};

/** OpenAPI 3.1, from the schemas that check bodies and queries and the table that every error is of. */
export function makeOpenApi(
  operations: readonly Operation[],
  { baseUrl, version, error }: { baseUrl: string; version: string; error: z.ZodType },
): OpenApi {
  const schemas: Record<string, JsonSchema> = { Error: jsonSchema(error, "output") };
  const paths: OpenApi["paths"] = {};
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation, schemas),
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Inference gateway", version, description: ABOUT },
    servers: [{ url: baseUrl }],
    tags: operationGroups.map((name) => ({ name })),
    paths,
    components: { schemas, securitySchemes },
  };
}

const ABOUT =
  "An OpenAI-compatible API, paid from a prepaid balance in dollars. Every request reserves the most it can cost, and " +
  "is charged what it used. What is under Inference is the same under `/v1`.";

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

function describe(operation: Operation, schemas: Record<string, JsonSchema>): Record<string, unknown> {
  const { body, credentials, id, title, about, group } = operation;
  return {
    operationId: id,
    tags: [group],
    summary: title,
    ...(about === undefined ? {} : { description: about }),
    security: credentials.map((credential) => ({ [schemeOf[credential]]: [] })),
    ...parameters(operation),
    ...(body === undefined
      ? {}
      : {
          requestBody: { required: true, content: { "application/json": { schema: named(body, "input", schemas) } } },
        }),
    responses: {
      ...Object.fromEntries(operation.answers.map((answer) => [answer.status, response(answer, schemas)])),
      ...errorResponses(operation.errors),
    },
  };
}

function parameters({ pathParameters = {}, query, headers = {} }: Operation): { parameters?: unknown[] } {
  const inPath = Object.entries(pathParameters).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
  const inQuery = query === undefined ? [] : queryParameters(query);
  const inHeaders = Object.entries(headers).map(([name, description]) => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
  }));
  const all = [...inPath, ...inQuery, ...inHeaders];
  return all.length === 0 ? {} : { parameters: all };
}

function queryParameters(query: z.ZodObject): unknown[] {
  const { properties = {} } = jsonSchema(query, "output") as { properties?: Record<string, JsonSchema> };
  // What has a default is always there in the end, and need not be sent.
  const { required = [] } = jsonSchema(query, "input") as { required?: string[] };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

function response({ about, content }: OperationAnswer, schemas: Record<string, JsonSchema>): Record<string, unknown> {
  const entries = Object.entries(content).map(([mediaType, schema]) => [
    mediaType,
    schema === null ? {} : { schema: named(schema, "output", schemas) },
  ]);
  return { description: about, ...(entries.length === 0 ? {} : { content: Object.fromEntries(entries) }) };
}

/** One response for each status, naming its codes. */
function errorResponses(codes: readonly ErrorCode[]): Record<number, unknown> {
  const byStatus = Map.groupBy(new Set(codes), (code) => errorTable[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, own]) => [
      status,
      {
        description: own.map((code) => `\`${code}\``).join(", "),
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    ]),
  );
}

function named(
  { name, schema }: NamedSchema,
  side: "input" | "output",
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  schemas[name] ??= jsonSchema(schema, side);
  return { $ref: `#/components/schemas/${name}` };
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io, unrepresentable: "any" });
  return rest;
}
