import { Test } from '@nestjs/testing';
import { PG_QUEUE_OPTIONS, PgQueueProducer, PgQueueWorker } from 'nestjs-pgqueue';
import { startEmbeddedPostgres, type EmbeddedPostgres } from 'nestjs-pgqueue/testing';
import { AppModule } from './app.module.js';

let server: EmbeddedPostgres;
beforeAll(async () => {
  server = await startEmbeddedPostgres();
  process.env['DATABASE_URL'] = server.url; // before the factories of AppModule read it
}, 60_000);
afterAll(() => server.stop());

it('sends a receipt', async () => {
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(PG_QUEUE_OPTIONS)
    .useValue({ worker: { autoStart: false } })
    .compile();
  const app = await module.init();
  const { id } = await app.get(PgQueueProducer).enqueue('send_receipt', { orderId: 7 });
  const attempts = await app.get(PgQueueWorker).drain();
  expect(attempts).toEqual([{ id, entrypoint: 'send_receipt', attempt: 1, status: 'successful' }]);
  await app.close();
});
