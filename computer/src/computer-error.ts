/** The reason why the computer cannot sell, with the remedy. */
export class ComputerError extends Error {
  override readonly name = "ComputerError";
}
