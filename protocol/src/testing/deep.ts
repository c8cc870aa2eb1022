/** Whether this is `npm run test:deep`. */
export const isDeep = process.env.DEEP === "1";

/** The options of a test that shares the set-up of a file of `npm test` and takes too long for it. */
export const inDeepRun = { skip: isDeep ? false : "runs in npm run test:deep" };
