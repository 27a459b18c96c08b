import { Connection, closedLoop } from '../gateway/load.ts';
import { culvertHeaders } from '../gateway/processes.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';

/** Searches that run at once. */
const searchers = 8;
const floodSeconds = 5;
const warmUpSeconds = 8;

/** What a search looks at. */
const filters = {
  all: undefined,
  'a tenth passes a filter': { must: [{ key: 'tenth', match: { value: 7 } }] },
  'a hundredth passes a filter': { must: [{ key: 'group', match: { value: 42 } }] },
};

/** Who answers searches; `path` of its collections. */
export interface Searched {
  port: number;
  path: '/v1/vectors/collections' | '/collections';
}

interface Seen {
  singleMs: number[];
  perSecond: number;
}

/**
 * Searches of one collection over HTTP by callers that cost little: their requests are made before, their answers are
 * only counted. Each way is warmed up first. `beside` is asked the same in the same run: what it does is the goal.
 */
export async function measureSearches(
  ours: Searched,
  beside: Searched | null,
  { name, size }: { name: string; size: number },
  queries: readonly Float32Array[],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [which, filter] of Object.entries(filters)) {
    const measure = async ({ port, path }: Searched): Promise<Seen> => {
      const requests = queries.map((query) => searchRequest(path, name, query, filter));
      await flood(port, requests, warmUpSeconds);
      return { singleMs: await oneByOne(port, requests), perSecond: await flood(port, requests, floodSeconds) };
    };
    const seen = await measure(ours);
    const what = which === 'all' ? `search of ${size} over HTTP` : `… ${which}`;
    rows.push(told(`${what}: p50 / p99, one at a time; ${searchers} at once`, shown(seen)));
    if (beside === null) continue;
    const other = await measure(beside);
    rows.push(
      told('… Qdrant', shown(other)),
      judged('… one at a time, p50 ÷ Qdrant', [percentile(seen.singleMs, 0.5) / percentile(other.singleMs, 0.5)], {
        atMost: 1,
        unit: '×',
        digits: 2,
      }),
      judged(`… ${searchers} at once, searches a second ÷ Qdrant`, [seen.perSecond / other.perSecond], {
        atLeast: 1,
        unit: '×',
        digits: 2,
      }),
    );
  }
  return rows;
}

function shown({ singleMs, perSecond }: Seen): string {
  return `${percentile(singleMs, 0.5).toFixed(2)} / ${percentile(singleMs, 0.99).toFixed(2)} ms; ${perSecond.toFixed(0)} searches/s`;
}

/** The first of a process, mostly. */
export async function searchOnce(
  { port, path }: Searched,
  collection: string,
  query: Float32Array,
  which: keyof typeof filters,
): Promise<void> {
  await oneByOne(port, [searchRequest(path, collection, query, filters[which])]);
}

function searchRequest(path: Searched['path'], collection: string, query: Float32Array, filter?: object): Buffer {
  return postOf(`${path}/${collection}/points/search`, { vector: Array.from(query), limit: 10, filter });
}

/** A request as its bytes. */
export function postOf(path: string, json: object): Buffer {
  const body = JSON.stringify(json);
  const headers = {
    host: 'bench',
    ...culvertHeaders,
    'content-type': 'application/json',
    'content-length': body.length,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

async function oneByOne(port: number, requests: readonly Buffer[]): Promise<number[]> {
  const connection = new Connection(port);
  const took: number[] = [];
  for (const request of requests) {
    const sentMs = performance.now();
    await answered(connection, request);
    took.push(performance.now() - sentMs);
  }
  connection.close();
  return took;
}

/** Searches a second. */
async function flood(port: number, request: readonly Buffer[], seconds: number): Promise<number> {
  const { requests, errors, seconds: took } = await closedLoop({ port, request, connections: searchers, seconds });
  if (errors > 0) throw new Error(`${errors} of ${requests} searches failed`);
  return requests / took;
}

/** Rejects unless it is a 2xx. */
export function answered(connection: Connection, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) =>
    connection.send(request, (outcome) => (outcome === 'ok' ? resolve() : reject(new Error('a search failed')))),
  );
}
