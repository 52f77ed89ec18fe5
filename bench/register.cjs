'use strict';
// As scripts/register.cjs, but the package's own name is what its users get: the built CommonJS package.
const Module = require('node:module');
const path = require('node:path');
require('../scripts/register.cjs');

const built = path.join(path.dirname(__dirname), 'dist/cjs/lib');
const ownName = {
  'nestjs-pgqueue': path.join(built, 'index.js'),
  'nestjs-pgqueue/testing': path.join(built, 'testing/index.js'),
};

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  return ownName[request] ?? resolveFilename.call(this, request, ...rest);
};
