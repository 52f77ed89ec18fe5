import { bulk } from './bulk.js';
import { contention } from './contention.js';
import { drain } from './drain.js';
import { enqueue } from './enqueue.js';
import { growth } from './growth.js';
import { idle } from './idle.js';
import { latency } from './latency.js';
import { pinned } from './pinned.js';
import { recovery } from './recovery.js';
import type { Scenario } from './scenario.js';
import { strategies } from './strategies.js';

export const SCENARIOS = {
  drain,
  enqueue,
  bulk,
  latency,
  idle,
  growth,
  pinned,
  contention,
  strategies,
  recovery,
} as const satisfies Record<string, Scenario>;
