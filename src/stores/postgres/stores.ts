import type { AccountStore } from '../../auth/account-store.ts';
import type { ProviderObjectStore } from '../../auth/provider-object-store.ts';
import type { ResponseStore } from '../../metering/response-store.ts';
import type { CrawlStore } from '../../tools/crawl/crawl-store.ts';
import type { SharedPace } from '../../tools/crawl/shared-pace.ts';
import { createAccountStore } from '../account-store.ts';
import { createCrawlStore } from '../crawl-store.ts';
import { createProviderObjectStore, objectUpkeep } from '../provider-object-store.ts';
import { createReplyStore } from '../reply-store.ts';
import { createResponseStore } from '../response-store.ts';
import { bootIsOver } from './boots.ts';
import type { Database } from './database.ts';
import { tablesIn } from './tables.ts';
import { unavailable } from './unavailable.ts';

// All replicas share what is here. Stores that need no more than `tablesIn` are made where they are used.

/** One row: what does not come at once comes never, and the next look takes another connection. */
const versionAnswerMaxMs = 1_000;
/** A caller waits for it: as for a reservation. */
const callerWaitsMs = 250;
/** A commit is there in milliseconds. */
const lookAgainAfterMs = 150;

export function createPostgresAccountStore({ keys, rest }: Pick<Database, 'keys' | 'rest'>): AccountStore {
  return createAccountStore({
    ...tablesIn({ rest }),
    quick: tablesIn({ rest: keys }, { answerMaxMs: versionAnswerMaxMs }),
    keys: tablesIn({ rest: keys }),
  });
}

export function createPostgresReplyStore({ opens, rest }: Pick<Database, 'opens' | 'rest'>) {
  const quick = tablesIn({ rest: opens }, { giveUpMs: callerWaitsMs });
  return createReplyStore({ ...tablesIn({ rest }), bootIsOver }, quick);
}

export function createPostgresProviderObjectStore({
  opens,
  rest,
}: Pick<Database, 'opens' | 'rest'>): ProviderObjectStore {
  const tables = tablesIn({ rest });
  const quick = tablesIn({ rest: opens }, { giveUpMs: callerWaitsMs });
  return createProviderObjectStore({ ...tables, lookAgainAfterMs, upkeep: objectUpkeep(tables) }, quick);
}

export function createPostgresResponseStore(database: Pick<Database, 'rest'>): ResponseStore {
  return createResponseStore({ ...tablesIn(database), bootIsOver });
}

/** Longer than any delay between two pages of a host. */
const turnKeptMs = 86_400_000;

/** A key or shape may be longer than an index can hold: their hashes are columns. */
export function createPostgresCrawlStore(database: Pick<Database, 'rest'>): CrawlStore {
  const tables = tablesIn(database);
  const store = createCrawlStore({
    ...tables,
    pages: { key: 'key_hash', shape: 'shape_hash', value: (place) => `sha256(convert_to(${place}, 'UTF8'))` },
    given: 'jsonb_array_elements($2::jsonb) WITH ORDINALITY AS found (value, at)',
  });
  return {
    ...store,
    async prune(nowMs) {
      await tables.write([{ sql: 'DELETE FROM culvert.crawl_turn WHERE began_ms < $1', values: [nowMs - turnKeptMs] }]);
      return store.prune(nowMs);
    },
  };
}

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
