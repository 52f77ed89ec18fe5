import { startEmbeddedPostgres } from 'nestjs-pgqueue/testing';
import { Pool } from 'pg';

// What users run: each commit is on disk. The rest is alike for all, so that checkpoints don't fall into a run by chance.
const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  max_connections: 300,
} as const;

export interface BenchServer {
  /** Resolves with the URL of an empty database. */
  createDatabase(): Promise<string>;
  dropDatabase(url: string): Promise<unknown>;
  /** For the head of the report. */
  readonly version: string;
  stop(): Promise<void>;
}

/** @param counting whether it counts statements, which costs a little */
export async function startPostgres(counting: boolean): Promise<BenchServer> {
  const settings = counting ? { ...SETTINGS, shared_preload_libraries: 'pg_stat_statements' } : SETTINGS;
  const server = await startEmbeddedPostgres({ settings });
  const pool = new Pool({ connectionString: server.url });
  pool.on('error', () => undefined); // a connection that says goodbye while its server stops
  const { rows } = await pool.query<{ server_version: string }>('show server_version');
  let created = 0;
  return {
    version: `PostgreSQL ${rows[0]?.server_version ?? ''}`,
    createDatabase: async () => {
      const name = `bench_${++created}`;
      await pool.query(`create database ${name}`);
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
    },
    dropDatabase: (url) => pool.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`),
    stop: async () => {
      await pool.end();
      await server.stop();
    },
  };
}
