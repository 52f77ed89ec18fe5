import type { Handler, JobControl } from '../../lib/claimer/worker-context.js';
import type { Job } from '../../lib/domain/job.js';
import type { FoundEntrypoint } from '../../lib/nest/entrypoint.explorer.js';
import { createHandler, type Middleware } from '../../lib/nest/handler.factory.js';
import type { ManagerOwner } from '../../lib/sql/manager.js';
import { resolveOptions } from '../../lib/options.js';

const { defaults: DEFAULTS } = resolveOptions({});
const steps: string[] = [];
const instance = { send: (job: Job) => (steps.push('handler'), job.payload) };
const found = {
  name: 'send',
  options: {},
  methodName: 'send',
  label: 'Sender.send',
  wrapper: { instance, isDependencyTreeStatic: () => true, isTransient: false },
} as unknown as FoundEntrypoint;

const around =
  (name: string): Middleware =>
  (next, entrypoint) =>
  async (job, control) => {
    steps.push(`${name} before ${entrypoint}`);
    const result = await next(job, control);
    steps.push(`${name} after`);
    return `${name}(${String(result)})`;
  };

describe('middleware around a handler', () => {
  const run = (handler: Handler) => handler.run({ payload: 'it' } as Job, { claimId: '1' } as JobControl);
  beforeEach(() => steps.splice(0));

  it('runs from the first to the last, and back, and returns the result', async () => {
    const handler = createHandler(found, DEFAULTS, {} as ManagerOwner, [around('a'), around('b')]);
    expect(await run(handler)).toBe('a(b(it))');
    expect(steps).toEqual(['a before send', 'b before send', 'handler', 'b after', 'a after']);
  });

  it('may leave the handler out', async () => {
    const handler = createHandler(found, DEFAULTS, {} as ManagerOwner, [() => () => 'nothing']);
    expect(await run(handler)).toBe('nothing');
    expect(steps).toEqual([]);
  });

  it('costs nothing where there is none: what the method returns comes back as it is', () => {
    expect(run(createHandler(found, DEFAULTS, {} as ManagerOwner))).toBe('it');
  });
});
