/** The ledger over an object's rows: what of a release is kept, to be run over the rows of the next one. */
export { apply } from "@inference/ledger/apply";
export { tableNames } from "@inference/ledger/schema";
export { openOwnRows } from "../own-rows.ts";
export { OBJECT_VERSION } from "../own-schema.ts";
