import type { MigrationInterface } from 'typeorm';
import { CreateQueue } from './1-create-queue.js';

/** All versions of the schema, in order. Append only: a released migration never changes. */
export const MIGRATIONS: readonly (new (schema: string) => MigrationInterface)[] = [CreateQueue];
