import { fill, type Ground, parameter, type Scenario, settleDown } from './scenario.js';
import { rateOf, warmUp } from './work.js';

const DAY = 86_400_000;
const NAMES = 1_000;
// A queue that runs dry measures something else.
const RESERVE = 1.25;

/** Prepares the table and says what to do afterwards. */
type Case = (ground: Ground) => Promise<() => Promise<unknown>>;

const due = (ground: Ground) => Math.ceil(parameter(ground, 'jobs') * RESERVE);
const others = (ground: Ground) => parameter(ground, 'size') - due(ground);
const nothing = () => Promise.resolve();

const fillWith =
  (like: (index: number) => object): Case =>
  async (ground) => {
    await fill(ground, others(ground), like);
    return nothing;
  };

const CASES = {
  small: () => Promise.resolve(nothing),
  queued: fillWith(() => ({})),
  later: fillWith(() => ({ delay: DAY })),
  laterUrgent: fillWith(() => ({ delay: DAY, urgent: true })),
  names: fillWith((index) => ({ name: `other_${(index % (NAMES - 1)).toString()}` })),
  running: async (ground) => {
    const { holdJobs } = await import('./holder.js'); // loads Nest, which other measurements should not
    return holdJobs(ground.url, parameter(ground, 'running'));
  },
} as const satisfies Record<string, Case>;

export type GrowthCase = keyof typeof CASES;

/** The rate of a worker in a table that has grown. */
export const growth: Scenario = async (ground) => {
  await warmUp(ground, parameter(ground, 'warmUp'));
  const finish = await CASES[ground.spec.case ?? 'small'](ground);
  await fill(ground, due(ground));
  await settleDown(ground);
  const rate = await rateOf(ground, parameter(ground, 'jobs'));
  await finish();
  return { rate };
};
