import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { DataSourceError } from '../domain/errors.js';

export interface DataSourceRequest {
  /** The option `dataSource`. */
  readonly given: DataSource | DataSourceOptions | undefined;
  /** What the container has under `token`. */
  readonly injected: unknown;
  /** The option `dataSourceToken`. */
  readonly token: InjectionToken | undefined;
  readonly modules: ModulesContainer;
}

export interface ChosenDataSource {
  readonly dataSource: DataSource;
  /** Whether the queue has opened it, and so closes it. */
  readonly owned: boolean;
  /** Whether it was opened for `DATABASE_URL`, since the application seemed to have none. */
  readonly fallback: boolean;
}

/**
 * Chooses the DataSource of a queue. Never takes another database silently.
 * @throws DataSourceError naming what was found
 */
export async function chooseDataSource(request: DataSourceRequest): Promise<ChosenDataSource> {
  const { given, injected, token } = request;
  if (given !== undefined) return isDataSource(given) ? borrow(given) : open(given);
  if (isDataSource(injected)) return borrow(injected);
  if (token !== undefined) {
    throw new DataSourceError(
      `PgQueueModule: there is no DataSource under dataSourceToken ${nameOf(token)}. ${listed(request.modules)}`,
    );
  }
  const candidates = findCandidates(request.modules);
  const url = process.env['DATABASE_URL'];
  if (candidates.length === 0 && url !== undefined && url !== '')
    return { ...(await open({ type: 'postgres', url })), fallback: true };
  throw new DataSourceError(`PgQueueModule found no DataSource that it can use. ${listed(request.modules)}`);
}

/**
 * A DataSource that is made while the queue's is chosen can't be told from its token alone. Call it when all are there.
 * @throws DataSourceError when `DATABASE_URL` was taken in an application that has a DataSource
 */
export function refuseFallback({ fallback }: ChosenDataSource, modules: ModulesContainer): void {
  if (!fallback || findCandidates(modules).length === 0) return;
  throw new DataSourceError(
    `PgQueueModule would use DATABASE_URL beside the application's own DataSource. ${listed(modules)}`,
  );
}

function borrow(dataSource: DataSource): ChosenDataSource {
  checkType(dataSource.options);
  if (!dataSource.isInitialized) {
    throw new DataSourceError(
      'The DataSource for PgQueueModule is not initialised. Call and await its initialize() before',
    );
  }
  return { dataSource, owned: false, fallback: false };
}

async function open(options: DataSourceOptions): Promise<ChosenDataSource> {
  checkType(options);
  try {
    return { dataSource: await new DataSource(options).initialize(), owned: true, fallback: false };
  } catch (cause) {
    throw new DataSourceError(`PgQueueModule can't connect to its database: ${String(cause)}`, { cause });
  }
}

function checkType({ type }: DataSourceOptions): void {
  if (type === 'postgres') return;
  throw new DataSourceError(`PgQueueModule needs a DataSource of type 'postgres'; this one is of type '${type}'`);
}

// By TypeORM's own mark: with two copies of the package instanceof would fail.
function isDataSource(value: unknown): value is DataSource {
  return (
    typeof value === 'object' &&
    value !== null &&
    '@instanceof' in value &&
    value['@instanceof'] === Symbol.for('DataSource')
  );
}

function listed(modules: ModulesContainer): string {
  const candidates = findCandidates(modules);
  if (candidates.length === 0) {
    return (
      'The application has none. Import TypeOrmModule.forRoot({ type: "postgres", … }), ' +
      'or set the option dataSource, or set DATABASE_URL'
    );
  }
  return (
    `The application has: ${candidates.join(', ')}. Choose one with dataSourceToken, ` +
    `and see that its module is global or among the imports of PgQueueModule.forRootAsync()`
  );
}

// An instance may still be pending here, so its token has to tell: reportsDataSource, DATA_SOURCE, Symbol(dataSource).
const LIKE_A_DATA_SOURCE = /data_?source\)?$/i;

function findCandidates(modules: ModulesContainer): string[] {
  return [...modules.values()].flatMap((module) =>
    [...module.providers.values()]
      .filter(({ token, instance }) => isDataSource(instance) || LIKE_A_DATA_SOURCE.test(nameOf(token)))
      .map(({ token }) => `${nameOf(token)} in ${module.name}`),
  );
}

function nameOf(token: InjectionToken): string {
  return typeof token === 'function' ? token.name : String(token);
}
