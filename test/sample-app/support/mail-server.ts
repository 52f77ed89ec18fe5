import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { deferred } from '../../support/index.js';

export interface MailServer {
  readonly url: string;
  /** All messages so far. */
  readonly messages: readonly string[];
  readonly firstMessage: Promise<string>;
  stop(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const messages: string[] = [];
  const first = deferred<string>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, _session, done) =>
      void text(stream).then((message) => {
        messages.push(message);
        first.resolve(message);
        done();
      }, done),
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    messages,
    firstMessage: first.promise,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
