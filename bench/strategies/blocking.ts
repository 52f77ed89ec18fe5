import { CLAIM_TABLE, LeaseStrategy } from './lease.js';
import type { StrategyDefinition } from './strategy.js';

/**
 * Claimers queue up behind the first row that they all want. What it is waited for is the claim only, which commits before its
 * jobs run: were the transaction open until they have ended, one batch would run at a time.
 */
export const blocking: StrategyDefinition = {
  tables: CLAIM_TABLE,
  create: (client) => new LeaseStrategy(client, 'for update'),
};
