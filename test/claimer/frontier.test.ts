import { Frontier, SEEN } from '../../lib/claimer/frontier.js';
import type { ClaimedJob } from '../../lib/domain/job.js';

const jobs = (...ids: number[]) => ids.map((id) => job(id));
const job = (id: number, entrypoint = 'work', priority = 0) => ({ id: String(id), entrypoint, priority }) as ClaimedJob;
const placeAfter = (id: number) => ({ entrypoint: 'work', priority: 0, after: String(id) });

describe('the place behind which the next claim goes on', () => {
  let frontier: Frontier;
  beforeEach(() => {
    jest.useFakeTimers();
    frontier = new Frontier();
  });
  afterEach(() => jest.useRealTimers());
  const pass = (ms: number) => jest.advanceTimersByTime(ms);

  it('is not known before a claim from the head has won a full batch', () => {
    expect(frontier.behind).toBeUndefined();
    expect(frontier.rest).toBe(Infinity);
    expect(frontier.forget()).toBe(false);
  });

  it('is the last job of the last batch, until it is time to look at the head again', () => {
    frontier.begin(jobs(3, 1, 7), 0);
    expect(frontier.behind).toEqual(placeAfter(7));
    pass(30);
    frontier.advance(jobs(8, 9));
    expect(frontier.behind).toEqual(placeAfter(9));
    expect(frontier.rest).toBe(20);
    pass(20);
    expect(frontier.behind).toBeUndefined();
    expect(frontier.rest).toBe(0);
  });

  it.each([
    [0.5, 50],
    [2.5, 50],
    [10, 200],
    [49, 980],
    [50, 1_000],
    [1_000, 1_000],
  ])('where a claim from the head takes %d ms, it is looked at after %d ms', (took, rest) => {
    frontier.begin(jobs(1), took);
    expect(frontier.rest).toBe(rest);
  });

  it('is none when a batch is of two entrypoints, or of two priorities', () => {
    for (const mixed of [[job(1), job(2, 'other')], [job(2, 'work', 1), job(1)], []]) {
      frontier.begin(mixed, 10);
      expect(frontier.behind).toBeUndefined();
      expect(frontier.rest).toBe(Infinity);
      frontier.begin(jobs(1), 10);
      frontier.advance(mixed);
      expect(frontier.behind).toBeUndefined();
    }
  });

  it('is that of the entrypoint and the priority of the batch', () => {
    frontier.begin([job(4, 'other', -3)], 10);
    expect(frontier.behind).toEqual({ entrypoint: 'other', priority: -3, after: '4' });
  });

  it('is forgotten at once when there may be something at the head and a claim from there is cheap', () => {
    frontier.begin(jobs(1), 2);
    expect(frontier.hurry()).toBe(true);
    expect(frontier.behind).toBeUndefined();
    expect(frontier.rest).toBe(Infinity);
  });

  it('is kept for a shorter share of the time when a claim from the head is expensive, however often it hurries', () => {
    frontier.begin(jobs(1), 40);
    expect(frontier.rest).toBe(800);
    for (let waited = 0; waited <= 110; waited += 55, pass(55)) {
      expect(frontier.hurry()).toBe(false);
      expect(frontier.rest).toBe(160 - waited);
    }
    expect(frontier.hurry()).toBe(true);
  });

  it('is new with each claim from the head, whose price is that of the latest', () => {
    frontier.begin(jobs(1), 1_000);
    expect(frontier.forget()).toBe(true);
    expect(frontier.rest).toBe(Infinity);
    frontier.begin(jobs(5), 0);
    expect(frontier.rest).toBe(50);
  });

  describe('where rivals claim beside it', () => {
    const range = (first: number, count = 1_000) => jobs(...Array.from({ length: count }, (_, nth) => first + nth));
    afterEach(() => jest.restoreAllMocks());

    it('leaves to them as many ids as they took since the last claim', () => {
      frontier.begin(range(1), 0);
      frontier.advance(range(31_001));
      expect(frontier.behind).toEqual(placeAfter(32_000 + 30_001));
      frontier.advance(range(62_002));
      expect(frontier.behind).toEqual(placeAfter(63_001 + 29_100)); // they took nothing beyond: a little less
    });

    it('leaves more to them when they took more, and less and less when they are gone', () => {
      frontier.begin(range(1), 0);
      frontier.advance(range(2_001));
      frontier.advance(range(4_502));
      expect(frontier.behind).toEqual(placeAfter(5_501 + 1_001 + 501));
      for (let n = 0; n < 500; n++) frontier.advance(range(10_000));
      expect(frontier.behind).toEqual(placeAfter(10_999));
    });

    it('takes no gap for theirs that is small, or usual between its own jobs', () => {
      frontier.begin(jobs(1, 101), 0);
      frontier.advance(jobs(300, 301));
      expect(frontier.behind).toEqual(placeAfter(301));
      frontier.advance(jobs(1_000, 3_000, 5_000));
      expect(frontier.behind).toEqual(placeAfter(5_000));
    });

    it('begins by chance in the room that they take, where that is known', () => {
      frontier.begin(range(1), 0);
      frontier.advance(range(11_001)); // 10,001
      jest.spyOn(Math, 'random').mockReturnValue(0.75);
      frontier.begin(range(1), 0);
      expect(frontier.behind).toEqual(placeAfter(1_000 + 15_001));
    });

    it('looks at the head when there is nothing behind what it left to them, and leaves less next time', () => {
      frontier.begin(range(1), 10);
      frontier.advance(range(11_001));
      expect(frontier.cameShort([])).toBe(true);
      expect(frontier.behind).toBeUndefined();
      jest.spyOn(Math, 'random').mockReturnValue(0.5);
      frontier.begin(range(1), 10);
      expect(frontier.behind).toEqual(placeAfter(1_000 + 5_000));
    });

    it('looks at the head the more rarely, the more they are', () => {
      frontier.begin(range(1), 40);
      expect(frontier.rest).toBe(800);
      frontier.advance(range(2_001)); // one
      jest.spyOn(Math, 'random').mockReturnValue(0);
      frontier.begin(range(1), 40);
      expect(frontier.rest).toBeCloseTo(1_600, -1);
      expect(frontier.hurry()).toBe(false);
      expect(frontier.rest).toBe(160);
    });

    it('counts ids beyond what a number can hold', () => {
      const far = { ...job(0), id: '9007199254740993' };
      frontier.begin([far], 0);
      expect(frontier.behind?.after).toBe('9007199254740993');
    });
  });

  it('is kept for a moment when a claim comes short that left nothing to rivals', () => {
    frontier.begin(jobs(1), 40);
    expect(frontier.cameShort(jobs(2))).toBe(false);
    expect(frontier.rest).toBe(160);
    expect(frontier.behind).toEqual(placeAfter(1));
  });

  it('is not known where all there was at the head was won quickly, or nothing', () => {
    frontier.begin(jobs(1), 49, false);
    frontier.begin(jobs(), 500, false);
    expect(frontier.behind).toBeUndefined();
    expect(frontier.round).toBe(0);
  });

  describe('where claims from the head are slow', () => {
    const urgent = (...ids: number[]) => ids.map((id) => job(id, 'urgent', 9));
    const head = (seen: ClaimedJob[], took?: number) => Promise.resolve({ jobs: seen, took });
    const crowd = (of: (id: number) => ClaimedJob) => Array.from({ length: SEEN }, (_, nth) => of(nth + 1));
    beforeEach(async () => {
      frontier.begin(jobs(10), 100, false);
      await frontier.look(() => head([]));
    });

    it.each([
      [49, 980],
      [100, 2_000],
      [10_000, 60_000],
    ])('and a look takes %d ms, there is another one after %d ms', async (took, rest) => {
      await frontier.look(() => head([], took));
      expect(frontier.rest).toBe(rest);
    });

    it('is kept, whatever was won, until the head has been looked at', async () => {
      expect(frontier.isSlow).toBe(true);
      expect(frontier.cameShort(jobs(11, 14))).toBe(false);
      expect(frontier.cameShort([])).toBe(false);
      pass(5_000);
      expect(frontier.rest).toBe(0);
      expect(frontier.hurry()).toBe(false);
      expect(frontier.behind).toEqual(placeAfter(14));
      const looked = frontier.look(() => head([]));
      expect(frontier.rest).toBe(60_000);
      expect(await looked).toBe(false);
      expect(frontier.rest).toBe(2_000);
      expect(frontier.behind).toEqual(placeAfter(14));
    });

    it('is kept when a look fails, and there is another one soon', async () => {
      await expect(frontier.look(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
      expect(frontier.rest).toBe(400);
      expect(frontier.behind).toEqual(placeAfter(10));
    });

    it('has jobs before it that were seen claimed first, and looked for no more when they are won or gone', async () => {
      const { round } = frontier;
      expect(await frontier.look(() => head([...urgent(70, 80, 90), ...jobs(4, 11, 3)]))).toBe(true);
      expect(frontier.round).toBe(round + 1);
      expect(frontier.seen).toEqual([...urgent(70, 80, 90), ...jobs(4)]);
      frontier.wonSeen(urgent(80), 1);
      expect(frontier.seen).toEqual([...urgent(90), ...jobs(4)]);
      frontier.wonSeen(urgent(90), 2);
      expect(frontier.seen).toEqual([]);
    });

    it('counts as seen before it what was so when the look began', async () => {
      const looked = frontier.look(async () => {
        await Promise.resolve();
        return { jobs: jobs(11, 12), took: 100 };
      });
      frontier.advance(jobs(11, 12, 13));
      expect(await looked).toBe(false);
      expect(frontier.seen).toEqual([]);
    });

    it('is followed by another look sooner when something was told of meanwhile, or won before it', async () => {
      const looked = frontier.look(() => head([]));
      frontier.hurry();
      expect(await looked).toBe(true);
      expect(frontier.rest).toBe(400);
      expect(await frontier.look(() => head(jobs(2)))).toBe(true);
      frontier.wonSeen([], 5); // by rivals
      expect(frontier.rest).toBe(2_000);
      await frontier.look(() => head(jobs(2)));
      frontier.wonSeen(jobs(2), 5);
      expect(frontier.rest).toBe(400);
    });

    it('moves behind many, and on when nothing is left there', async () => {
      expect(await frontier.look(() => head(crowd((id) => job(id, 'urgent', 9))))).toBe(true);
      frontier.wonSeen(urgent(1, 2), 2);
      expect(frontier.behind).toEqual({ entrypoint: 'urgent', priority: 9, after: '2' });
      expect(frontier.cameShort([])).toBe(true);
      expect(frontier.behind).toEqual(placeAfter(10));
      expect(frontier.cameShort([])).toBe(false);
    });

    it('moves back behind many of its own kind', async () => {
      frontier.begin(jobs(SEEN), 100);
      expect(await frontier.look(() => head(crowd((id) => job(id))))).toBe(true);
      frontier.wonSeen(jobs(1, 2), 2);
      expect(frontier.behind).toEqual(placeAfter(2));
      expect(frontier.cameShort([])).toBe(false);
    });

    it('is one of several where there are few of other kinds, which take turns as they come short', async () => {
      expect(await frontier.look(() => head([...urgent(70), job(71, 'other'), job(75, 'other')]))).toBe(true);
      frontier.wonSeen([...urgent(70), job(71, 'other'), job(75, 'other')], 9);
      const afters = () => {
        const after = frontier.behind?.after;
        return [after, frontier.cameShort(after === '70' ? urgent(99) : [])];
      };
      expect([afters(), afters(), afters()]).toEqual([
        ['75', true],
        ['70', true],
        ['10', false],
      ]);
      expect([afters(), afters(), afters()]).toEqual([
        ['75', true],
        ['99', true],
        ['10', false],
      ]);
    });

    it('is one of eight at the most', async () => {
      const kinds = Array.from({ length: 12 }, (_, nth) => job(nth, 'work', 20 - nth));
      expect(await frontier.look(() => head(kinds))).toBe(true);
      frontier.wonSeen(kinds, 99);
      let places = 1;
      while (frontier.cameShort([])) places++;
      expect(places).toBe(8);
    });

    it('is that of the last job that was won, when nothing lies behind what was left to rivals', () => {
      frontier.advance(Array.from({ length: 10 }, (_, nth) => job(100_000 + nth)));
      expect(frontier.behind).toEqual(placeAfter(100_009 + 99_990));
      expect(frontier.cameShort([])).toBe(true);
      expect(frontier.behind).toEqual(placeAfter(100_009));
      expect(frontier.cameShort([])).toBe(false);
    });

    it('is given up beside many of several kinds', async () => {
      expect(await frontier.look(() => head(crowd((id) => job(id, 'urgent', id % 3))))).toBe(true);
      frontier.wonSeen([job(1, 'urgent', 2), job(2, 'urgent', 1)], 2);
      expect(frontier.behind).toBeUndefined();
      expect(frontier.seen).toEqual([]);
    });

    it('is given up after a look that was quick, unless all entrypoints are paused', async () => {
      await frontier.look(() => head([], undefined));
      expect(frontier.isSlow).toBe(true);
      await frontier.look(() => head([], 1));
      expect(frontier.isSlow).toBe(false);
      expect(frontier.hurry()).toBe(true);
    });

    it('is kept in a deep queue after a look that was quick, as long as claims may be slow for another reason', async () => {
      frontier.advance(jobs(11, 12));
      await frontier.look(() => head([], 1));
      expect(frontier.isSlow).toBe(false);
      expect(frontier.rest).toBe(980);
    });

    it('has the head looked at again when a look gets no answer', () => {
      void frontier.look(() => new Promise(() => {}));
      pass(59_999);
      expect(frontier.rest).toBe(1);
      pass(1);
      expect(frontier.rest).toBe(0);
    });

    it('is not given back by a look whose place was given up meanwhile', async () => {
      const looked = frontier.look(() => head(jobs(1)));
      frontier.forget();
      expect(await looked).toBe(false);
      expect(frontier.behind).toBeUndefined();
      expect(frontier.seen).toEqual([]);
    });
  });
});
