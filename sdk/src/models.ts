import type { modelAnswer } from "@inference/protocol/wire/answers";
import type * as z from "zod";
import type { Connection } from "./connection.ts";
import { request } from "./request.ts";

export type Model = z.infer<typeof modelAnswer>;

/** The models that the gateway serves, of every type, with their prices. */
export async function listModels(connection: Connection): Promise<Model[]> {
  return (await request<{ data: Model[] }>(connection, "/api/v1/models")).data;
}

/** One model by its id or alias. */
export function readModel(connection: Connection, id: string): Promise<Model> {
  return request<Model>(connection, `/api/v1/models/${id.split("/").map(encodeURIComponent).join("/")}`);
}
