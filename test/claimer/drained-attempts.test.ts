import { collectAttempts } from '../../lib/claimer/drained-attempts.js';
import type { ClaimedJob } from '../../lib/domain/job.js';
import { FAILED, RELEASED, SUCCESSFUL } from '../support/index.js';

describe('what a drain returns', () => {
  const job = (id: string, attempt = 1) => ({ id, entrypoint: 'work', attempt }) as ClaimedJob;

  it('is in the order in which the attempts ended, whenever they were written', () => {
    const { attempts, observe } = collectAttempts();
    observe({ type: 'ended', job: job('1'), outcome: FAILED });
    observe({ type: 'ended', job: job('2'), outcome: SUCCESSFUL });
    observe({ type: 'ended', job: job('3'), outcome: RELEASED });
    observe({ type: 'settled', ids: ['3', '2'], outcomes: ['released', 'successful'] });
    observe({ type: 'settled', ids: ['1'], outcomes: ['failed'] });
    expect(attempts()).toEqual([
      { id: '1', entrypoint: 'work', attempt: 1, status: 'failed', error: 'Error: no' },
      { id: '2', entrypoint: 'work', attempt: 1, status: 'successful' },
      { id: '3', entrypoint: 'work', attempt: 1, status: 'released' },
    ]);
  });

  it.each([
    ['settled', 'refused'],
    ['refused', 'settled'],
  ] as const)(
    'has both attempts of a job that ran twice at once: the earlier is lost, after %s and %s',
    (one, other) => {
      const { attempts, observe } = collectAttempts();
      observe({ type: 'ended', job: job('1', 1), outcome: FAILED });
      observe({ type: 'ended', job: job('1', 2), outcome: SUCCESSFUL });
      observe({ type: one, ids: ['1'], outcomes: ['successful'] });
      observe({ type: other, ids: ['1'], outcomes: ['successful'] });
      expect(attempts().map(({ attempt, status }) => `${attempt} ${status}`)).toEqual(['1 lost', '2 successful']);
    },
  );

  it('has what was never written as lost, and nothing of what only was claimed', () => {
    const { attempts, observe } = collectAttempts();
    observe({ type: 'ended', job: job('1'), outcome: SUCCESSFUL });
    observe({ type: 'settled', ids: ['2'], outcomes: ['successful'] });
    expect(attempts()).toMatchObject([{ id: '1', status: 'lost' }]);
  });
});
