import type { DataSource } from 'typeorm';
import { Occupancy } from '../claimer/occupancy.js';
import { Team } from '../claimer/team.js';
import { openPool, type OwnPool } from '../sql/connections.js';
import { type Database, ownDatabase } from '../sql/database.js';
import { PoolShare } from '../sql/pool-share.js';

export interface Membership {
  readonly team: Team;
  /** Through connections that the team shares. */
  readonly db: Database;
  /** Its connections that are still busy after `grace` milliseconds are cut off. The last one to leave closes all of them. */
  leave(grace: number): Promise<void>;
}

interface Shared {
  readonly schema: string;
  readonly team: Team;
  readonly own: OwnPool;
}

// One each for what each worker does at the same time: claiming, settling, beating, maintenance. None can wait for another.
const CONNECTIONS = 4;

const teams = new Set<Shared>();
const occupancy = new Occupancy();

/** Finds the workers of this process that serve the same queue through connections of the same kind, or is the first. */
export function joinTeam(dataSource: DataSource, schema: string): Membership {
  const shared =
    [...teams].find((each) => each.schema === schema && each.own.fits(dataSource)) ?? found(dataSource, schema);
  const share = new PoolShare(shared.own.pool);
  count(shared, 1);
  return {
    team: shared.team,
    db: ownDatabase(share),
    leave: async (grace) => {
      count(shared, -1);
      if (shared.team.size > 0) return share.end(grace);
      teams.delete(shared);
      await shared.own.end(grace);
    },
  };
}

function found(dataSource: DataSource, schema: string): Shared {
  const shared = { schema, team: new Team(occupancy), own: openPool(dataSource, CONNECTIONS) };
  teams.add(shared);
  return shared;
}

function count({ team, own }: Shared, change: 1 | -1): void {
  team.size += change;
  own.pool.options.max = CONNECTIONS * Math.max(team.size, 1);
}
