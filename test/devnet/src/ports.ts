import { type AddressInfo, createServer, type Server } from "node:net";
import { freePort } from "@inference/contracts/free-port";
import { DevnetError } from "./devnet-error.ts";
import type { PortSetting, Ports } from "./settings.ts";

/**
 * Ports that are free now, any where 0 was asked for. Throws {@link DevnetError} naming the one in use and its
 * setting.
 */
export async function choosePorts(wanted: Ports): Promise<Ports> {
  const chosen: Partial<Record<PortSetting, number>> = {};
  // All are held until all are chosen: else two could be the same.
  const held: Server[] = [];
  try {
    for (const [setting, port] of Object.entries(wanted) as [PortSetting, number][]) {
      const server = await listen(setting, port === 0 ? await freePort() : port);
      held.push(server);
      chosen[setting] = (server.address() as AddressInfo).port;
    }
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
  return { ...wanted, ...chosen };
}

function listen(setting: PortSetting, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "is in use" : `cannot be used (${error.code})`;
      reject(
        new DevnetError(`Port ${port} ${reason}: stop what uses it, or set ${setting} to another (0: any free one).`),
      );
    });
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
