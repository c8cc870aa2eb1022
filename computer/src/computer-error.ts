/** The reason why the computer cannot sell, and what to do. */
export class ComputerError extends Error {
  override readonly name = "ComputerError";
}
