import { CLAIM_TABLE, LeaseStrategy } from './lease.js';
import type { StrategyDefinition } from './strategy.js';

/** What this package does: a claimer goes past the rows that others are about to claim. */
export const skipLocked: StrategyDefinition = {
  tables: CLAIM_TABLE,
  create: (client) => new LeaseStrategy(client, 'for update skip locked'),
};
