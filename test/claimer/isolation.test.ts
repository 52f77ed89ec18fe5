import { Isolation } from '../../lib/claimer/isolation.js';

const PROBATION = 1_000;
const TURN = 2 * PROBATION;

describe('the turns of suspects', () => {
  let isolation: Isolation;
  beforeEach(() => (isolation = new Isolation(6 * PROBATION)));

  it('begin when one is seen, and stop other claims until they are over', () => {
    expect(isolation.standstill(0)).toBe(0);
    isolation.see(true, 0);
    expect(isolation.standstill(0)).toBe(TURN);
    expect(isolation.mayStart(TURN - 1)).toBe(true);
    expect(isolation.mayStart(TURN)).toBe(false);
    expect(isolation.standstill(TURN)).toBe(0);
  });

  it('leave others as much time, however many suspects there are and whenever they are seen', () => {
    for (let now = 0; now < 10 * TURN; now += 100) {
      isolation.see(true, now);
      expect(isolation.standstill(now) > 0).toBe(now % (2 * TURN) < TURN);
    }
  });

  it('last until a suspect has passed its probation, and others have as much time after that', () => {
    isolation.see(true, 0);
    isolation.started(1, TURN - 1);
    expect(isolation.standstill(TURN)).toBe(PROBATION - 1);
    isolation.passed(TURN + 100);
    expect(isolation.standstill(TURN + 100)).toBe(0);
    isolation.see(true, TURN + 100);
    expect(isolation.rest(TURN + 100)).toBe(TURN);
  });

  it('end when no suspects are left, but not the probation of the last', () => {
    isolation.see(true, 0);
    isolation.started(1, 100);
    isolation.see(false, 200);
    expect(isolation.mayStart(200)).toBe(false);
    expect(isolation.standstill(200)).toBe(PROBATION - 100);
    expect(isolation.rest(200)).toBe(Infinity);
  });

  it('begin before their time when there is nothing else to run', () => {
    isolation.see(true, 0);
    isolation.see(true, TURN);
    expect(isolation.standstill(TURN)).toBe(0);
    expect(isolation.takeTurn(TURN)).toBe(true);
    expect(isolation.standstill(TURN)).toBe(TURN);
    isolation.see(false, TURN);
    expect(isolation.takeTurn(TURN)).toBe(false);
  });

  it('are short when heartbeatTimeout is long', () => {
    isolation = new Isolation(3_600_000);
    isolation.see(true, 0);
    expect(isolation.standstill(0)).toBe(10_000);
  });
});
