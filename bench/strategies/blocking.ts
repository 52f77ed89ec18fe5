import { CLAIM_TABLE, LeaseStrategy } from './lease.js';
import type { StrategyDefinition } from './strategy.js';

/**
 * Claimers queue up behind the first row that they all want. They wait for the end of a claim, not for that of its jobs: were
 * its transaction open until those have ended, one batch would run at a time.
 */
export const blocking: StrategyDefinition = {
  tables: CLAIM_TABLE,
  create: (client) => new LeaseStrategy(client, 'for update'),
};
