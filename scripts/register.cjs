'use strict';
// Runs TypeScript in Node without a build: `node --require ./scripts/register.cjs file.ts`. The compiler's options are
// those of .swcrc, shared with Jest. A hook of our own because @swc-node/register leaves `./x.js` unresolved in CommonJS.
const { existsSync, readFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { transformSync } = require('@swc/core');

const root = path.dirname(__dirname);
const ownName = {
  'nestjs-pgqueue': path.join(root, 'lib/index.ts'),
  'nestjs-pgqueue/testing': path.join(root, 'lib/testing/index.ts'),
};

/** The source that `./x.js` stands for in a TypeScript file, if there is one. */
function sourceOf(request, parent) {
  if (!parent?.filename?.endsWith('.ts') || !/^\.{1,2}\/.*\.js$/.test(request)) return undefined;
  const source = path.resolve(path.dirname(parent.filename), request.replace(/\.js$/, '.ts'));
  return existsSync(source) ? source : undefined;
}

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  return ownName[request] ?? sourceOf(request, parent) ?? resolveFilename.call(this, request, parent, ...rest);
};

Module._extensions['.ts'] = function (module, filename) {
  module._compile(transformSync(readFileSync(filename, 'utf8'), { cwd: root, filename }).code, filename);
};

process.setSourceMapsEnabled(true);
