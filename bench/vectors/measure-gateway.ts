import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { loadCore, proxyCore, residentMb, scratchFolder, startUpstream } from '../gateway/processes.ts';
import { judged, type Row, told } from '../rows.ts';
import { startChats } from './chat-thread.ts';
import { measureSearches, searchOnce } from './measure-searches.ts';
import { percentile } from './percentile.ts';
import { batchPoints, createPoints, dimensions, type Points, payloadOf } from './points.ts';
import { type RunningGateway, startWatchedGateway } from './watched-gateway.ts';

const collection = '/v1/vectors/collections/bench';
/** Bodies that are sent again with other ids: writing them must not cost the load a core. */
const preparedBodies = 10;

/** Over HTTP, everything on: what ingest and search do to the loop and to chats, memory, and the first answer after a start. */
export async function measureGateway(count: number): Promise<Row[]> {
  const folder = scratchFolder();
  const upstream = await startUpstream();
  // On both cores: its worker has one beside the loop's, as anywhere.
  const start = () => startWatchedGateway({ upstreamPort: upstream.port, folder, cores: `${proxyCore},${loadCore}` });
  let gateway = await start();
  const rows: Row[] = [];
  try {
    const points = createPoints(1);
    const bodies = Array.from({ length: preparedBodies }, (_, at) =>
      prepareBody(points.batch(at * batchPoints, batchPoints)),
    );
    const queries = points.queries(500);
    const alone = startChats(gateway.port);
    await pause(10_000);
    const idle = await alone.stop();
    await gateway.client.send('POST', '/v1/vectors/collections', {
      name: 'bench',
      vector_size: dimensions,
      distance: 'Cosine',
    });
    await gateway.facts();

    const busy = startChats(gateway.port);
    const startedMs = performance.now();
    let slowestMs = 0;
    for (let from = 0; from < count; from += batchPoints) {
      const sentMs = performance.now();
      await gateway.client.send('PUT', `${collection}/points`, bodies[(from / batchPoints) % preparedBodies]!(from));
      slowestMs = Math.max(slowestMs, performance.now() - sentMs);
    }
    const seconds = (performance.now() - startedMs) / 1_000;
    const during = await busy.stop();
    const whileWriting = await gateway.facts();
    const perSecond = count / seconds;
    rows.push(
      told(
        `ingest of ${count} over HTTP, ${batchPoints} a call`,
        `${perSecond.toFixed(0)} points/s, slowest ${slowestMs.toFixed(0)} ms`,
      ),
      judged('… chat p99 meanwhile ÷ idle', [percentile(during, 0.99) / percentile(idle, 0.99)], {
        atMost: 2,
        unit: '×',
        digits: 2,
      }),
      told('… chat p50 / p99, idle; meanwhile', `${shown(idle)}; ${shown(during)} ms`),
      judged('… event-loop delay p99, ingest', [whileWriting.p99Ms], { atMost: 15, unit: ' ms', digits: 1 }),
      judged('… event-loop delay max, ingest', [whileWriting.maxMs], { atMost: 50, unit: ' ms', digits: 1 }),
    );

    await gateway.client.send('DELETE', collection);
    const sizes = { searched: count, small: Math.min(count, 10_000) };
    for (const [name, size] of Object.entries(sizes)) await fill(gateway, points, name, size);
    await gateway.facts();
    for (const [name, size] of Object.entries(sizes)) {
      rows.push(...(await measureSearches(gateway.port, { name, size }, queries)));
    }
    const whileSearching = await gateway.facts();
    rows.push(
      judged('… event-loop delay p99, search', [whileSearching.p99Ms], { atMost: 15, unit: ' ms', digits: 1 }),
      judged('… event-loop delay max, search', [whileSearching.maxMs], { atMost: 50, unit: ' ms', digits: 1 }),
      told('… memory of the process', `${residentMb(gateway.pid).toFixed(0)} MB`),
    );

    for (const filter of ['all', 'a tenth passes a filter'] as const) {
      await gateway.stop();
      const startedMs = performance.now();
      gateway = await start();
      const upMs = performance.now() - startedMs;
      await searchOnce(gateway.port, 'searched', queries[0]!, filter);
      const firstMs = performance.now() - startedMs;
      const what = filter === 'all' ? `start over ${count} points: up; first search answered` : `… ${filter}`;
      rows.push(told(what, `${upMs.toFixed(0)} ms; ${firstMs.toFixed(0)} ms`));
    }
    return rows;
  } finally {
    await gateway.stop();
    upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The call that writes these points under other ids each time. */
function prepareBody(vectors: Float32Array, firstRow = 0): (firstId: number) => Buffer {
  const idDigits = 9;
  const first = 10 ** (idDigits - 1);
  const places: number[] = [];
  const parts: Buffer[] = [Buffer.from('{"points":[')];
  let length = parts[0]!.length;
  const add = (text: string) => {
    const part = Buffer.from(text);
    parts.push(part);
    length += part.length;
  };
  for (let row = 0; row < batchPoints; row++) {
    add(`${row === 0 ? '' : ','}{"id":`);
    places.push(length);
    const vector = Array.from(vectors.subarray(row * dimensions, (row + 1) * dimensions), (value) => value.toFixed(6));
    add(`${first},"vector":[${vector.join(',')}],"payload":${payloadOf(firstRow + row)}}`);
  }
  add(']}');
  const body = Buffer.concat(parts);
  return (firstId) => {
    for (const [row, place] of places.entries()) body.write(String(first + firstId + row), place, 'latin1');
    return body;
  };
}

/** Points that differ, by calls that nobody times. */
async function fill({ client }: RunningGateway, points: Points, name: string, size: number): Promise<void> {
  await client.send('POST', '/v1/vectors/collections', { name, vector_size: dimensions, distance: 'Cosine' });
  for (let from = 0; from < size; from += batchPoints) {
    const body = prepareBody(points.batch(from, batchPoints), from);
    await client.send('PUT', `/v1/vectors/collections/${name}/points`, body(from));
  }
}

function shown(values: readonly number[]): string {
  return `${percentile(values, 0.5).toFixed(2)} / ${percentile(values, 0.99).toFixed(2)}`;
}
