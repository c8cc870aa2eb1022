/** The variables that the examples read. The reader sets them. */
declare namespace NodeJS {
  interface ProcessEnv {
    INFERENCE_API_KEY: string;
    PRIVATE_KEY: `0x${string}`;
  }
}
