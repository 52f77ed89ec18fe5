import type { LoggerService } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { JobControl } from '../claimer/worker-context.js';
import { ManagerError } from '../domain/errors.js';
import { openTransaction, type ManagerOwner } from '../sql/manager.js';
import type { JobContext } from './job-context.js';

/** What all attempts of one handler share. */
export interface HandlerGround {
  readonly logger: LoggerService;
  readonly owner: ManagerOwner;
}

/** The context of one attempt. */
export class HandlerContext implements JobContext {
  readonly claimId: string;
  readonly logger: LoggerService;
  readonly #control: JobControl;
  readonly #owner: ManagerOwner;
  readonly #manager: EntityManager | undefined;

  constructor(control: JobControl, { logger, owner }: HandlerGround, manager?: EntityManager) {
    this.claimId = control.claimId;
    this.logger = logger;
    this.#control = control;
    this.#owner = owner;
    this.#manager = manager;
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  get manager(): EntityManager {
    if (this.#manager !== undefined) return this.#manager;
    throw new ManagerError('context.manager is there with @Entrypoint(name, { transactional: true }) only');
  }

  async completeWith(manager: EntityManager, result?: unknown): Promise<void> {
    await this.#control.complete(await openTransaction(manager, this.#owner), result);
  }
}
