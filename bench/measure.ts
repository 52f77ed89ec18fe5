// One measurement in a process of its own: what it gets is a specification and a database, what it sends are numbers.
import { Client } from 'pg';
import type { RunSpec } from './plan/run-spec.js';
import { SCENARIOS } from './scenarios/index.js';
import type { Measurement } from './scenarios/scenario.js';
import { createSystem } from './systems/index.js';

export interface MeasureOrder {
  readonly spec: RunSpec;
  readonly url: string;
}

async function measure({ spec, url }: MeasureOrder): Promise<Measurement> {
  const { system: name, options, backend } = spec.contestant;
  const system = await createSystem(name, url, options);
  const admin = backend === 'postgres' ? new Client({ connectionString: url }) : undefined;
  await admin?.connect();
  await system.open();
  const measurement = await SCENARIOS[spec.scenario]({ system, spec, url, admin });
  await system.close();
  await admin?.end();
  return measurement;
}

process.once('message', (order: MeasureOrder) => {
  void measure(order).then(
    (measurement) => process.send?.({ measurement }, () => process.exit(0)),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
