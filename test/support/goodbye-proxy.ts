import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** A way to the database on which each connection of a worker is terminated in the moment in which it is ready. */
export interface GoodbyeProxy {
  readonly url: string;
  /** How often it has done so. */
  readonly goodbyes: () => number;
  close(): Promise<void>;
}

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export async function startGoodbyeProxy(target: string): Promise<GoodbyeProxy> {
  const { hostname, port } = new URL(target);
  let goodbyes = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
    let isWorker = false;
    near.once('data', (startup) => (isWorker = startup.includes('nestjs-pgqueue')));
    near.on('data', (data) => far.write(data));
    far.on('data', (data) => {
      if (!isWorker || !data.subarray(-READY.length).equals(READY)) return void near.write(data);
      goodbyes++;
      near.end(Buffer.concat([data, fatal()])); // both come with one read
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    goodbyes: () => goodbyes,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

/** What a server sends that terminates a connection. */
function fatal(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command', ''];
  const body = Buffer.from(fields.map((field) => `${field}\0`).join(''));
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
