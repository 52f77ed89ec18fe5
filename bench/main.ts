// `npm run bench`, in full; `npm run bench -- --quick`, in five minutes; `npm run bench -- --only drain,latency`, a part;
// `npm run bench -- --runs pgqueue,bare`, those runs of each group.
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { installPeers, peerVersions } from './install.js';
import { planOf } from './plan/plan.js';
import type { Group } from './plan/run-spec.js';
import { FULL, QUICK } from './plan/sizes.js';
import { chartOf } from './report/chart.js';
import { markdownOf } from './report/markdown.js';
import { type GroupResult, resultOf, type Results } from './report/results.js';
import { measureGroup } from './rounds.js';
import { type BenchServer, startPostgres } from './servers/postgres.js';
import { startRedis } from './servers/redis.js';

const FOLDER = join(__dirname, 'results');

interface Servers {
  readonly postgres: BenchServer;
  /** For the group that counts statements. */
  readonly counting: BenchServer;
  readonly redis: BenchServer | undefined;
}

function readArguments() {
  const options = { quick: { type: 'boolean' }, only: { type: 'string' }, runs: { type: 'string' } } as const;
  const { quick, only, runs } = parseArgs({ options }).values;
  const plan = planOf(quick === true ? QUICK : FULL);
  const ids = chosen(
    '--only',
    only,
    plan.map(({ id }) => id),
  );
  const groups = plan.filter(({ id }) => ids.includes(id));
  const names = chosen('--runs', runs, [...new Set(groups.flatMap((group) => Object.keys(group.runs)))]);
  return { quick: quick === true, groups: withRuns(groups, names) };
}

/** Some of what there is, or all of it. */
function chosen(option: string, given: string | undefined, known: readonly string[]): readonly string[] {
  const wanted = given?.split(',') ?? known;
  const unknown = wanted.filter((each) => !known.includes(each));
  if (unknown.length === 0) return wanted;
  throw new Error(`${option} knows no ${unknown.join(', ')}. It takes some of ${known.join(',')}`);
}

function withRuns(groups: readonly Group[], wanted: readonly string[]): Group[] {
  const some = groups.map((group) => {
    const runs = Object.entries(group.runs).filter(([name]) => wanted.includes(name));
    return { ...group, runs: Object.fromEntries(runs) };
  });
  return some.filter(({ runs }) => Object.keys(runs).length > 0);
}

async function measureAll(groups: readonly Group[], { postgres, counting, redis }: Servers): Promise<GroupResult[]> {
  const results: GroupResult[] = [];
  for (const group of groups) {
    const server = group.id === 'idle' ? counting : postgres;
    const measurements = await measureGroup(group, ({ contestant }) =>
      contestant.backend === 'redis' ? redis : server,
    );
    results.push(resultOf(group, measurements));
  }
  return results;
}

function describeMachine({ postgres, redis }: Servers): string[] {
  const processor = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`;
  const redisVersion = redis?.version ?? 'no redis-server here';
  return [processor, `Node ${process.version}`, postgres.version, redisVersion, ...peerVersions()];
}

async function write(results: Results): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const markdown = markdownOf(results);
  await writeFile(join(FOLDER, 'results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
  await writeFile(join(FOLDER, 'results.md'), `${markdown}\n`);
  await writeFile(join(FOLDER, 'chart.svg'), chartOf(results));
  console.log(markdown);
}

async function main({ quick, groups }: ReturnType<typeof readArguments>): Promise<void> {
  installPeers();
  const servers = {
    postgres: await startPostgres(false),
    counting: await startPostgres(true),
    redis: await startRedis(),
  };
  try {
    const startedAt = new Date().toISOString();
    await write({ startedAt, quick, machine: describeMachine(servers), groups: await measureAll(groups, servers) });
  } finally {
    for (const server of Object.values(servers)) await server?.stop();
  }
}

try {
  void main(readArguments());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
