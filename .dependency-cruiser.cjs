'use strict';
// domain ← sql ← waiting ← claimer, client ← nest ← module: each layer may import the ones before it, never the ones after.
// CONTRIBUTING.md says what belongs where.

const within = (...folders) => `^lib/(${folders.join('|')})/`;
const settings = '^lib/(options|options-checks|tokens)\\.ts$';
const migrations = '^migrations/';
const ours = '^(lib|migrations)/';

/** A layer may import itself and what it is given, nothing else of this package. */
const layer = (name, path, ...may) => ({
  name,
  severity: 'error',
  from: { path },
  to: { path: ours, pathNot: [path, ...may] },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },

    layer('domain-imports-domain', within('domain')),
    layer('sql-imports-domain', within('sql'), within('domain'), migrations, settings),
    layer('migrations-import-sql', migrations, within('sql', 'domain')),
    layer('waiting-imports-sql', within('waiting'), within('domain', 'sql')),
    layer('claimer-imports-waiting', within('claimer'), within('domain', 'sql', 'waiting'), settings),
    layer('client-imports-waiting', within('client'), within('domain', 'sql', 'waiting'), settings),
    layer('nest-imports-the-core', within('nest'), within('domain', 'sql', 'waiting', 'claimer', 'client'), settings),
    layer('settings-import-domain', settings, within('domain')),
    {
      name: 'core-never-imports-subpaths',
      comment: 'lib/testing, lib/health and the like import the core; whoever does not use them never loads them.',
      severity: 'error',
      from: { path: ours, pathNot: '^lib/(testing|health)/' },
      to: { path: within('testing', 'health') },
    },
    {
      name: 'nobody-imports-the-index',
      severity: 'error',
      from: { path: ours },
      to: { path: '^lib/index\\.ts$' },
    },
    {
      name: 'domain-is-pure',
      comment: 'lib/domain has no framework, no database and no Node module in it.',
      severity: 'error',
      from: { path: within('domain') },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-peer', 'npm-optional'] },
    },
    {
      name: 'sql-without-nest',
      severity: 'error',
      from: { path: ['^lib/(domain|sql)/', migrations] },
      to: { path: 'node_modules/@nestjs/' },
    },
    {
      name: 'only-peers-at-run-time',
      comment: 'A published file imports its peers and Node, nothing that only this repository installs.',
      severity: 'error',
      from: { path: ours },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg'], dependencyTypesNot: ['npm-peer', 'type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
    combinedDependencies: false,
  },
};
