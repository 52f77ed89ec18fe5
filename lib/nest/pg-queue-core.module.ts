import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { EntrypointExplorer } from './entrypoint.explorer.js';
import { QueueLifecycle } from './queue-lifecycle.js';

/** What all queues of an application share: imported by each `PgQueueModule`, made once by Nest. */
@Module({ imports: [DiscoveryModule], providers: [EntrypointExplorer, QueueLifecycle], exports: [QueueLifecycle] })
export class PgQueueCoreModule {}
