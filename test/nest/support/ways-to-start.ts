// Imports nothing of the tests, as the consumer on Nest 12 runs it too.
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type CustomTransportStrategy, Server, Transport } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';

export type Start = (root: Type) => Promise<INestApplicationContext>;

const SILENT = { logger: false } as const;
const HOST = '127.0.0.1';
const TCP = { transport: Transport.TCP, options: { host: HOST, port: 0 } } as const;

class NoTransport extends Server implements CustomTransportStrategy {
  listen(done: () => void): void {
    done();
  }
  close(): void {}
  on(): void {}
  unwrap<T>(): T {
    return undefined as T;
  }
}

const express = (root: Type) => NestFactory.create(root, SILENT);
const fastify = (root: Type) => NestFactory.create(root, new FastifyAdapter(), SILENT);
const compile = (root: Type) =>
  Test.createTestingModule({ imports: [root] })
    .setLogger({ log() {}, warn() {}, error() {} })
    .compile();

async function listening<T extends { listen(port: number, host: string): Promise<unknown> }>(app: T): Promise<T> {
  await app.listen(0, HOST);
  return app;
}

/** Every way in which Nest starts an application. */
export const waysToStart: readonly [string, Start][] = [
  ['an Express application, init()', async (root) => (await express(root)).init()],
  ['an Express application, listen()', async (root) => listening(await express(root))],
  ['a Fastify application, init()', async (root) => (await fastify(root)).init()],
  ['a Fastify application, listen()', async (root) => listening(await fastify(root))],
  ['createApplicationContext()', (root) => NestFactory.createApplicationContext(root, SILENT)],
  [
    'createMicroservice(), listen()',
    async (root) => {
      const app = await NestFactory.createMicroservice(root, { ...TCP, ...SILENT });
      await app.listen();
      return app;
    },
  ],
  [
    'createMicroservice(), init(), which runs all hooks twice',
    async (root) => (await NestFactory.createMicroservice(root, { ...TCP, ...SILENT })).init(),
  ],
  [
    'createMicroservice() of a transport of its own, init(), listen()',
    async (root) => {
      const app = await NestFactory.createMicroservice(root, { strategy: new NoTransport(), ...SILENT });
      await app.init();
      await app.listen();
      return app;
    },
  ],
  [
    'a hybrid application, startAllMicroservices(), listen()',
    async (root) => {
      const app = await express(root);
      app.connectMicroservice(TCP);
      await app.startAllMicroservices();
      return listening(app);
    },
  ],
  [
    'a hybrid application, init(), startAllMicroservices()',
    async (root) => {
      const app = await fastify(root);
      app.connectMicroservice({ strategy: new NoTransport() }, { inheritAppConfig: true });
      await app.init();
      await app.startAllMicroservices();
      return app;
    },
  ],
  ['a testing module, init()', async (root) => (await compile(root)).init()],
  ['a testing module, createNestApplication()', async (root) => (await compile(root)).createNestApplication().init()],
  [
    'a testing module, createNestMicroservice(), listen()',
    async (root) => {
      const app = (await compile(root)).createNestMicroservice(TCP);
      await app.listen();
      return app;
    },
  ],
];
