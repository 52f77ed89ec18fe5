export { type Ground, type LogEntry, useGround } from './ground.js';
export { type Layout, layouts } from './layouts.js';
export { onWorker, workerStops } from './on-worker.js';
