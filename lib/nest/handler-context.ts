import type { LoggerService } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { JobControl } from '../claimer/worker-context.js';
import { ManagerError } from '../domain/errors.js';
import { openTransaction, type ManagerOwner } from '../sql/manager.js';
import type { JobContext } from './job-context.js';

export interface HandlerContextParts {
  readonly control: JobControl;
  readonly logger: LoggerService;
  readonly owner: ManagerOwner;
  readonly manager?: EntityManager;
}

/** The context of one attempt. */
export class HandlerContext implements JobContext {
  readonly claimId: string;
  readonly logger: LoggerService;
  readonly #parts: HandlerContextParts;

  constructor(parts: HandlerContextParts) {
    this.claimId = parts.control.claimId;
    this.logger = parts.logger;
    this.#parts = parts;
  }

  get signal(): AbortSignal {
    return this.#parts.control.signal;
  }

  get manager(): EntityManager {
    const { manager } = this.#parts;
    if (manager !== undefined) return manager;
    throw new ManagerError('context.manager is there with @Entrypoint(name, { transactional: true }) only');
  }

  async completeWith(manager: EntityManager, result?: unknown): Promise<void> {
    const { control, owner } = this.#parts;
    await control.complete(await openTransaction(manager, owner), result);
  }
}
