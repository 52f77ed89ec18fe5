import { Logger } from '@nestjs/common';
import type { WorkerEvent, WorkerTask } from '../../lib/claimer/worker-event.js';
import { DeafError } from '../../lib/domain/errors.js';
import { logEvents } from '../../lib/nest/worker-logger.js';
import { silentLogger } from '../support/index.js';

describe('the log of a worker in trouble', () => {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    Logger.overrideLogger({
      ...silentLogger,
      warn: (line: string) => lines.push(`warn: ${line}`),
      error: (line: string) => lines.push(`error: ${line}`),
    });
  });
  afterEach(() => {
    Logger.overrideLogger(true);
    jest.restoreAllMocks();
  });

  const fail = (task: WorkerTask, error: unknown, transient = true): WorkerEvent => ({
    type: 'error',
    task,
    error,
    transient,
  });

  it('warns of what passes by itself', () => {
    logEvents('default')(fail('claim', new Error('terminating connection')));
    expect(lines).toEqual(['warn: Failed to claim, and will try again: Error: terminating connection']);
  });

  it('has an error for what does not, with what to do', () => {
    logEvents('default')(fail('listen', new DeafError(), false));
    expect(lines).toEqual([expect.stringMatching(/^error: Failed to listen: .*listenUrl.*until this is put right$/)]);
  });

  it('says the same of the same task once a minute', () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    const log = logEvents('default');
    for (const at of [0, 100, 5_000, 59_999, 60_000, 60_100]) {
      now.mockReturnValue(at);
      log(fail('claim', new Error('refused')));
    }
    log(fail('settle', new Error('refused')));
    log(fail('claim', new Error('reset')));
    expect(lines.map((line) => line.replace('Failed to ', '').replace(', and will try again', ''))).toEqual([
      'warn: claim: Error: refused',
      'warn: claim: Error: refused',
      'warn: settle: Error: refused',
      'warn: claim: Error: reset',
    ]);
  });

  it('names what was tried where a host has several addresses', () => {
    const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}`);
    logEvents('default')(fail('claim', new AggregateError([refused('::1:5432'), refused('127.0.0.1:5432')])));
    expect(lines[0]).toContain('connect ECONNREFUSED ::1:5432, Error: connect ECONNREFUSED 127.0.0.1:5432');
  });
});
