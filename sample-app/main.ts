import 'reflect-metadata';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { exitOnSignals } from './exit-on-signals.js';
import { LocalServicesModule } from './local-services.module.js';
import { startLocalServices, type LocalServices } from './local-services.js';
import { readSettings, type ShopSettings } from './shop.settings.js';

async function main(): Promise<void> {
  const leaveSignalsToNest = exitOnSignals();
  const services = await startLocalServices(process.env);
  try {
    const settings = readSettings(services.env);
    const app = await createApp(settings, services);
    leaveSignalsToNest();
    await listen(app, settings.port);
    console.log(`The shop is open at ${urlOf(app)} with ${services.description}.`);
  } catch (error) {
    await services.stop();
    throw error;
  }
}

async function listen(app: NestExpressApplication, port: number): Promise<void> {
  try {
    // app.listen() would log an error of its own when the port is taken.
    await app.init();
    await once(app.getHttpServer().listen(port), 'listening');
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function createApp(settings: ShopSettings, services: LocalServices): Promise<NestExpressApplication> {
  const root = LocalServicesModule.around(AppModule.register(settings), services);
  const app = await NestFactory.create<NestExpressApplication>(root, {
    logger: ['warn', 'error', 'fatal'],
    abortOnError: false,
    forceCloseConnections: true, // a request that hangs must not hold up Ctrl-C
  });
  app.useBodyParser('text', { type: 'text/csv', limit: '64mb' });
  // Without this, Ctrl-C would end the process in the middle of its jobs.
  app.enableShutdownHooks();
  return app;
}

function urlOf(app: NestExpressApplication): string {
  const { port } = app.getHttpServer().address() as AddressInfo;
  return `http://localhost:${port}`;
}

function explain(error: unknown): unknown {
  const { code, port } = error as { code?: string; port?: number };
  return code === 'EADDRINUSE' ? `Port ${port} is already in use. Set PORT to another one.` : error;
}

main().catch((error: unknown) => {
  console.error(explain(error));
  process.exit(1);
});
