import type { Clock } from '../../kernel/clock.ts';
import { databaseNowMs } from './boots.ts';
import type { Connections } from './database.ts';
import { holdsRows } from './kept-tables.ts';

/** Facts of a server, for `culvert doctor`. */
export interface PostgresFacts {
  /** Such as `PostgreSQL 15.4`. */
  version: string;
  /** Whether it holds no account, key, request or other row of ours; its tables may not exist yet. */
  empty: boolean;
  /** Ms by which its clock is before (negative) or after ours, give or take the way there. */
  clockAheadMs: number;
}

export async function postgresFacts({ run }: Pick<Connections, 'run'>, clock: Clock): Promise<PostgresFacts> {
  const askedMs = clock.wallMs();
  const { rows } = await run<{ version: string; now_ms: number }>(
    `SELECT current_setting('server_version') AS version, ${databaseNowMs} AS now_ms`,
  );
  const answeredMs = clock.wallMs();
  return {
    version: `PostgreSQL ${rows[0]?.version ?? ''}`,
    empty: !(await holdsRows(run)),
    clockAheadMs: Math.round((rows[0]?.now_ms ?? askedMs) - (askedMs + answeredMs) / 2),
  };
}
