import type { MigrationInterface } from 'typeorm';
import { CreateQueue } from './1-create-queue.js';
import { CompleteJobLife } from './2-complete-job-life.js';
import { EnqueueFunctions } from './3-enqueue-functions.js';
import { Statistics } from './4-statistics.js';
import { BulkEnqueue } from './5-bulk-enqueue.js';
import { RoomForClaims } from './6-room-for-claims.js';
import { JobsAlike } from './7-jobs-alike.js';

/** All versions of the schema, in order. Append only: a released migration never changes. */
export const MIGRATIONS: readonly (new (schema: string) => MigrationInterface)[] = [
  CreateQueue,
  CompleteJobLife,
  EnqueueFunctions,
  Statistics,
  BulkEnqueue,
  RoomForClaims,
  JobsAlike,
];
