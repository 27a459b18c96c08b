import type { SharedPace } from '../../tools/crawl/shared-pace.ts';
import type { Database } from './database.ts';
import { unavailable } from './unavailable.ts';

/** A replica whose clock is ahead, or a host that many wait for, delays nobody for longer, except for its own delay. */
const waitMaxMs = 600_000;

export function createPostgresCrawlPace({ rest }: Pick<Database, 'rest'>): SharedPace {
  return {
    async take(host, delayMs, nowMs) {
      const { rows } = await unavailable(rest.run<{ began_ms: number }>(turn, [host, delayMs, nowMs, waitMaxMs]));
      return rows[0]!.began_ms - nowMs;
    },
  };
}

const turn = `
  INSERT INTO culvert.crawl_turn AS last (host_hash, began_ms) VALUES (sha256(convert_to($1, 'UTF8')), $3::bigint)
  ON CONFLICT (host_hash) DO UPDATE
    SET began_ms = greatest($3::bigint, least(last.began_ms + $2::bigint, $3::bigint + greatest($2::bigint, $4::bigint)))
  RETURNING began_ms`;
