import { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";

export type LocalServer = AsyncDisposable & { url: string; port: number; close(): Promise<void> };

/** Listens on a free port of this machine, until it is closed with its connections. */
export async function listenLocally(server: Server): Promise<LocalServer> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    if (server instanceof HttpServer) server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${port}`, port, close, [Symbol.asyncDispose]: close };
}
