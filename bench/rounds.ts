import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { MeasureOrder } from './measure.js';
import { labelOf } from './plan/labels.js';
import type { Group, RunSpec } from './plan/run-spec.js';
import type { Measurement } from './scenarios/scenario.js';
import type { BenchServer } from './servers/postgres.js';

/** The measurements of each run of a group, a round after the other. A run that failed has fewer. */
export type Measurements = Readonly<Record<string, readonly Measurement[]>>;

/** Where a run gets its database; undefined where its backend is not on this machine. */
export type ServerOf = (spec: RunSpec) => BenchServer | undefined;

// A run that takes as long hangs.
const LONGEST = 1_800_000;

/** Takes all measurements of a group: in each round those of all runs, beginning with another run each time. */
export async function measureGroup({ id, runs, rounds, together }: Group, serverOf: ServerOf): Promise<Measurements> {
  const names = Object.keys(runs).filter((name) => runs[name] !== undefined && serverOf(runs[name]) !== undefined);
  const measurements: Record<string, Measurement[]> = Object.fromEntries(names.map((name) => [name, []]));
  const take = async (name: string) => {
    const spec = runs[name];
    const server = spec && serverOf(spec);
    if (!server) return;
    const measurement = await measureOnce(spec, server);
    if (measurement) measurements[name]?.push(measurement);
    console.error(`${id}: ${labelOf(name, spec.contestant)}: ${textOf(measurement)}`);
  };
  for (let round = 0; round < rounds; round++) {
    const order = names.map((_, index) => names[(index + round) % names.length] ?? '');
    if (together) await Promise.all(order.map(take));
    else for (const name of order) await take(name);
  }
  return measurements;
}

function textOf(measurement: Measurement | undefined): string {
  if (measurement === undefined) return 'FAILED';
  return Object.entries(measurement)
    .map(([key, value]) => `${key} ${value.toPrecision(4)}`)
    .join(', ');
}

async function measureOnce(spec: RunSpec, server: BenchServer): Promise<Measurement | undefined> {
  const url = await server.createDatabase();
  try {
    return await measureInProcess({ spec, url });
  } finally {
    await server.dropDatabase(url);
  }
}

async function measureInProcess(order: MeasureOrder): Promise<Measurement | undefined> {
  const child = fork(join(__dirname, 'measure.ts'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const limit = setTimeout(() => child.kill('SIGKILL'), LONGEST);
  let measurement: Measurement | undefined;
  child.on('message', (message: { measurement: Measurement }) => ({ measurement } = message));
  child.send(order);
  await once(child, 'exit');
  clearTimeout(limit);
  return measurement;
}
