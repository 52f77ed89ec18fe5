export { type Ground, type LogEntry, useGround } from './ground.js';
export { type Layout, layouts } from './layouts.js';
export { IN_ORDER, type Stage, witnessModule } from './life-story.js';
export { onWorker, workerStops } from './on-worker.js';
export { RECORD_INSERTS } from './record-inserts.js';
export { type Start, waysToStart } from './ways-to-start.js';
