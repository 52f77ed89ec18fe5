import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to the database that the test can disturb. */
export interface TcpProxy {
  /** Leads through it to where the given URL does. */
  readonly url: string;
  /** From now on the connections that are open pass nothing on, and say nothing of it. */
  silence(): void;
  /** Resets all connections, and those to come. */
  breakDown(): void;
  /** Accepts connections to come, and never answers. */
  stall(): void;
  /** Lets connections to come through again. */
  restore(): void;
  close(): Promise<void>;
}

type Mode = 'open' | 'broken' | 'stalled';

/** Stands on a port of its own before the server of `target`. */
export async function startProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket?]>();
  let mode: Mode = 'open';
  // Half open, so that a goodbye is not answered by itself.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', ignore);
    if (mode === 'broken') return void socket.resetAndDestroy();
    const pair =
      mode === 'stalled'
        ? ([socket] as const)
        : join(socket, connect({ port: Number(port), host: hostname, allowHalfOpen: true }));
    pairs.add(pair);
    socket.once('close', () => pairs.delete(pair));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const reset = () => pairs.forEach((pair) => pair.forEach((socket) => socket?.resetAndDestroy()));

  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    silence: () => pairs.forEach((pair) => pair.forEach((socket) => socket?.unpipe().resume())),
    breakDown: () => {
      mode = 'broken';
      reset();
    },
    stall: () => (mode = 'stalled'),
    restore: () => (mode = 'open'),
    close: async () => {
      reset();
      server.close();
      await once(server, 'close');
    },
  };
}

function join(near: Socket, far: Socket): readonly [Socket, Socket] {
  far.on('error', ignore);
  near.pipe(far).pipe(near);
  near.once('close', () => far.destroy());
  far.once('close', () => near.destroy());
  return [near, far];
}

const ignore = () => undefined;
