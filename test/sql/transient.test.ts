import { connect } from 'node:net';
import { once } from 'node:events';
import { DatabaseError } from 'pg';
import { DeafError } from '../../lib/domain/errors.js';
import { isTransient } from '../../lib/sql/transient.js';

describe('an error', () => {
  const withCode = (code: string) => Object.assign(new DatabaseError('no', 2, 'error'), { code });

  it.each([
    ['serialization', '40001'],
    ['deadlock', '40P01'],
    ['lock not available', '55P03'],
    ['canceled, or statement_timeout', '57014'],
    ['terminated', '57P01'],
    ['crash', '57P02'],
    ['starting up', '57P03'],
    ['too many connections', '53300'],
    ['disk full', '53100'],
    ['connection failure', '08006'],
    ['pooler that has no server', '08P01'],
    ['read only', '25006'],
    ['idle in transaction', '25P03'],
    ['I/O', '58030'],
  ])('of the database passes by itself: %s', (_, code) => {
    expect(isTransient(withCode(code))).toBe(true);
  });

  it.each([
    ['syntax', '42601'],
    ['no such table', '42P01'],
    ['no such schema', '3F000'],
    ['no right', '42501'],
    ['wrong password', '28P01'],
    ['no such database', '3D000'],
    ['unique', '23505'],
    ['not in this encoding', '22P05'],
    ['in an aborted transaction', '25P02'],
    ['raised', 'P0001'],
    ['internal', 'XX000'],
  ])('of the database stays until somebody does something: %s', (_, code) => {
    expect(isTransient(withCode(code))).toBe(false);
  });

  it.each(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH'])(
    'of the way to the database passes: %s',
    (code) => {
      expect(isTransient(Object.assign(new Error(code), { code }))).toBe(true);
    },
  );

  it('that a socket has thrown passes', async () => {
    const [error] = (await once(connect(1, '127.0.0.1'), 'error').catch((thrown: unknown) => [thrown])) as [unknown];
    expect(isTransient(error)).toBe(true);
  });

  it.each(['Query read timeout', 'Connection terminated unexpectedly', 'timeout exceeded when trying to connect'])(
    'of pg itself passes: %s',
    (message) => {
      expect(isTransient(new Error(message))).toBe(true);
    },
  );

  it.each([new TypeError('x is not a function'), new RangeError('no'), new DeafError(), 'text', undefined, null])(
    'that is a mistake stays: %p',
    (error) => {
      expect(isTransient(error)).toBe(false);
    },
  );
});
