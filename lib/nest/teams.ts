import type { DataSource } from 'typeorm';
import { Team } from '../claimer/team.js';
import { openPool, type OwnPool } from '../sql/connections.js';
import { type Database, ownDatabase } from '../sql/database.js';

export interface Membership {
  readonly team: Team;
  /** The connections of the team. */
  readonly db: Database;
  /** The last one closes them; those that are still busy after `grace` milliseconds are cut off. */
  leave(grace: number): Promise<void>;
}

interface Shared {
  readonly schema: string;
  readonly team: Team;
  readonly pool: OwnPool;
  readonly db: Database;
}

// For the claim and the settle that are under way,
const CONNECTIONS = 2;
// and for the beats and the maintenance of each. None can wait for another.
const CONNECTIONS_OF_EACH = 2;

const teams = new Set<Shared>();

/** Finds the workers of this process that serve the same queue through connections of the same kind, or is the first. */
export function joinTeam(dataSource: DataSource, schema: string): Membership {
  const shared =
    [...teams].find((each) => each.schema === schema && each.pool.fits(dataSource)) ?? found(dataSource, schema);
  count(shared, 1);
  return {
    team: shared.team,
    db: shared.db,
    leave: async (grace) => {
      count(shared, -1);
      if (shared.team.size > 0) return;
      teams.delete(shared);
      await shared.pool.end(grace);
    },
  };
}

function found(dataSource: DataSource, schema: string): Shared {
  const pool = openPool(dataSource, CONNECTIONS);
  const shared: Shared = { schema, team: new Team(), pool, db: ownDatabase(pool.pool) };
  teams.add(shared);
  return shared;
}

function count({ team, pool }: Shared, change: 1 | -1): void {
  team.size += change;
  pool.pool.options.max = CONNECTIONS + CONNECTIONS_OF_EACH * team.size;
}
