import type { ClientBase, Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { urlsOfHosts } from '../kernel/web/urls-of-hosts.ts';

/** The part of a pool that statements need. */
export interface Pooled {
  connect(): Promise<PoolClient>;
  query(query: QueryConfig): Promise<QueryResult>;
}

/** Several servers, of which one takes writes. */
export interface Hosts {
  /** URL of the one that new connections go to, by what `urlNow` says now. */
  url(): string;
  /** Rejects where the server takes no writes, as a replica does. */
  refuseReplica(client: ClientBase): Promise<void>;
  /** The same pool, whose connections are tried at each server before they fail. */
  over(pool: Pool): Pooled;
}

/** Null: there is one. `isElsewhere` says by an error whether another server may be the right one. */
export function severalHosts(urlNow: () => string, isElsewhere: (error: unknown) => boolean): Hosts | null {
  const count = urlsOfHosts(urlNow()).length;
  if (count === 1) return null;
  let at = 0;
  async function connected(pool: Pool): Promise<PoolClient> {
    for (let left = count - 1; ; left--) {
      const tried = at;
      try {
        return await pool.connect();
      } catch (error) {
        if (!isElsewhere(error)) throw error;
        // Others that failed there meanwhile have passed it over.
        if (at === tried) at = (at + 1) % count;
        if (left === 0) throw error;
      }
    }
  }
  return {
    url() {
      const urls = urlsOfHosts(urlNow());
      return urls[at] ?? urls[0];
    },
    async refuseReplica(client) {
      const { rows } = await client.query<{ replica: boolean }>(
        `SELECT current_setting('transaction_read_only') = 'on' AS replica`,
      );
      if (rows[0]?.replica === true)
        throw Object.assign(new Error('the server takes no writes'), { code: '25006', severity: 'ERROR' });
    },
    over: (pool) => ({
      connect: () => connected(pool),
      async query(query) {
        const client = await connected(pool);
        try {
          const result = await client.query(query);
          client.release();
          return result;
        } catch (error) {
          client.release(true);
          throw error;
        }
      },
    }),
  };
}

/** For people: hosts, ports and database of a URL, never user, password or parameters. */
export function placeOf(url: string): string {
  try {
    const read = urlsOfHosts(url).map((one) => new URL(one));
    const hosts = read.map(({ host }) => (host === '' ? 'localhost' : host)).join(',');
    return `${hosts}${read[0]?.pathname}`;
  } catch {
    return 'PostgreSQL';
  }
}
