import fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../support/index.js';
import { anyCommand } from './actions/index.js';
import { finish } from './finish.js';
import { Model } from './model.js';
import { openReal, type Real } from './real.js';

const SEED = Number(process.env['SEED'] ?? 20251129);
const SEQUENCES = Number(process.env['SEQUENCES'] ?? 500);
// Some of them find nothing that they could be done to.
const LONGEST = 120;

const WAYS = [
  ...['enqueue inserted', 'enqueue duplicate', 'enqueue replaced', 'enqueue refused'],
  ...['claim of a job', 'claim of a suspect', 'claim crowded', 'openClaim', 'lock'],
  ...['settle successful', 'settle retried', 'settle failed', 'settle exception', 'settle canceled', 'settle released'],
  ...['hand over', 'hand over of a paused entrypoint'],
  ...['settle late', 'settle locked', 'beat late', 'beat tells of a cancel', 'promote of some'],
  ...['dissolve lost', 'dissolve failed', 'dissolve exception', 'dissolve canceled'],
  ...['cancel at once', 'cancel requested', 'requeue done', 'requeue conflict', 'remove', 'clear', 'pause'],
];

describe(`${SEQUENCES} random sequences of what may happen to jobs (SEED=${SEED})`, () => {
  let database: TestDatabase;
  let real: Real;
  const seen = new Map<string, number>();
  beforeAll(async () => {
    database = await createTestDatabase();
    real = await openReal(database);
  });
  afterAll(async () => {
    await real.end();
    await database.drop();
  });

  it('do what the model of a job says, and leave nothing that a worker could not end', async () => {
    const sequences = fc.commands([anyCommand], { maxCommands: LONGEST, size: 'max' });
    const property = fc.asyncProperty(sequences, async (commands) => {
      const model = new Model(seen);
      await real.reset();
      await fc.asyncModelRun(() => ({ model, real }), commands);
      await finish(model, real);
    });
    await fc.assert(property, { seed: SEED, numRuns: SEQUENCES });
  }, 900_000);

  it('meet in all ways', () => {
    expect([...seen.keys()]).toEqual(expect.arrayContaining(WAYS));
  });
});
