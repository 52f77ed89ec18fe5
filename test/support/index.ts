export { createTestDatabase, type TestDatabase } from './test-database.js';
export { countListeners, terminateAll, terminateListeners } from './backends.js';
export { deferred, type Deferred } from './deferred.js';
export { eventually } from './eventually.js';
export { type Exit, spawnWorker, type WorkerProcess } from './spawn-worker.js';
export { type Fleet, startFleet } from './fleet.js';
export { explain, explainPrepared } from './explain.js';
export { silentLogger } from './silent-logger.js';
export { startApp, type TestApp } from './test-app.js';
export { startProxy, type TcpProxy } from './tcp-proxy.js';
export { type GoodbyeProxy, startGoodbyeProxy } from './goodbye-proxy.js';
export { startWorker, type TestHandlers, type TestWorker, type TestWorkerOptions } from './test-worker.js';
export {
  type Claim,
  FAILED,
  makeStale,
  names,
  onPool,
  type Queue,
  queueOn,
  RELEASED,
  SUCCESSFUL,
  takeAway,
} from './queue.js';
export { blockedBackend, openSession, type Session } from './session.js';
export { useWorkerGround, type WorkerGround } from './worker-ground.js';
export { createOwnServer, type OwnServer } from './own-server.js';
export { hasPooler, type Pooler, startPooler } from './pooler.js';
