import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { PG_QUEUE_OPTIONS } from 'nestjs-pgqueue';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/index.js';

/** The first program that a guide shows, and the file of the tests that it is. */
export function programs(guide: string, program: string): { shown: string | undefined; tested: string } {
  const text = readFileSync(path.resolve(__dirname, `../../docs/${guide}.md`), 'utf8');
  const [, shown] = /^```ts\n\/\/ [^\n]*\n(.*?)^```$/ms.exec(text) ?? [];
  return { shown, tested: readFileSync(path.resolve(__dirname, program), 'utf8') };
}

/** A guide's module on a database of its own, with a worker that is started by hand. */
export function useGuide(module: Type, change: (builder: TestingModuleBuilder) => void = () => undefined) {
  const before = process.env['DATABASE_URL'];
  const ground = {} as { database: TestDatabase; app: INestApplicationContext };
  beforeEach(async () => {
    ground.database = await createTestDatabase();
    process.env['DATABASE_URL'] = ground.database.url;
    const builder = Test.createTestingModule({ imports: [module] }).setLogger(silentLogger);
    change(builder.overrideProvider(PG_QUEUE_OPTIONS).useValue({ worker: { autoStart: false } }));
    ground.app = await (await builder.compile()).init();
  });
  afterEach(async () => {
    await ground.app.close();
    if (before === undefined) delete process.env['DATABASE_URL'];
    else process.env['DATABASE_URL'] = before;
    await ground.database.drop();
  });
  return ground;
}
