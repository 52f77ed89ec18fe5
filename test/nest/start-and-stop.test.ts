import { deferred } from '../support/index.js';
import {
  IN_ORDER,
  type Layout,
  layouts,
  onWorker,
  type Start,
  useGround,
  waysToStart,
  witnessModule,
} from './support/index.js';

// On Nest 12, whose packages are ES modules, the same is checked by test/consumers/esm/start-and-stop.ts.
describe('a worker starts once, after the hooks of all providers, and is drained before them', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  const outcomes = async () => (await ground.log()).map(({ status }) => status);

  /** Runs an application with a job that is queued before and still runs when it closes. Returns what happened, in order. */
  const tell = async (start: Start, layout: Layout): Promise<string[]> => {
    const told: string[] = [];
    const [begun, stopping] = [deferred(), deferred()];
    onWorker('start', () => told.push('worker starts'));
    onWorker('stop', () => stopping.resolve());
    const work = () => {
      begun.resolve();
      return stopping.promise;
    };
    const stage = { typeOrm: ground.typeOrm(), outcomes, work };
    const root = witnessModule(layout, stage, (line) => told.push(line));
    await ground.database.query(`insert into pgqueue.job (entrypoint) values ('work')`);
    const app = ground.keep(await start(root));
    await begun.promise;
    await app.close();
    await app.close();
    return told;
  };

  it.each(waysToStart)('with %s', async (_, start) => {
    const told: Record<string, string[]> = {};
    for (const [place, layout] of layouts) {
      told[place] = await tell(start, layout);
      await ground.database.query('truncate pgqueue.job_log');
    }
    expect(told).toEqual(Object.fromEntries(layouts.map(([place]) => [place, IN_ORDER])));
  });
});
