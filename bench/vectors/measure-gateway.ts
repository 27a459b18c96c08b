import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { loadCore, proxyCore, residentMb, scratchFolder, startUpstream } from '../gateway/processes.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { startChats } from './chat-thread.ts';
import { measureSearches, searchOnce } from './measure-searches.ts';
import { batchPoints, createPoints, dimensions, type Points } from './points.ts';
import { prepareBody } from './prepare-body.ts';
import { qdrantBeside } from './qdrant-beside.ts';
import { type RunningGateway, startWatchedGateway } from './watched-gateway.ts';

const path = '/v1/vectors/collections';
const collection = `${path}/bench`;
/** Bodies that are sent again with other ids: writing them must not cost the load a core. */
const preparedBodies = 10;

/** Over HTTP, everything on: what ingest and search do to the loop and to chats, memory, and the first answer after a start. */
export async function measureGateway(count: number): Promise<Row[]> {
  const folder = scratchFolder();
  const upstream = await startUpstream();
  // On both cores: its worker has one beside the loop's, as anywhere.
  const start = () => startWatchedGateway({ upstreamPort: upstream.port, folder, cores: `${proxyCore},${loadCore}` });
  let gateway = await start();
  const qdrant = await qdrantBeside(`${proxyCore},${loadCore}`);
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
    await gateway.client.send('POST', path, {
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
    if (qdrant !== null) rows.push(...(await qdrant.fill(points, sizes)));
    await gateway.facts();
    for (const [name, size] of Object.entries(sizes)) {
      rows.push(
        ...(await measureSearches({ port: gateway.port, path }, qdrant?.searched ?? null, { name, size }, queries)),
      );
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
      await searchOnce({ port: gateway.port, path }, 'searched', queries[0]!, filter);
      const firstMs = performance.now() - startedMs;
      const what = filter === 'all' ? `start over ${count} points: up; first search answered` : `… ${filter}`;
      rows.push(told(what, `${upMs.toFixed(0)} ms; ${firstMs.toFixed(0)} ms`));
      if (qdrant !== null) rows.push(await qdrant.firstSearch('searched', queries[0]!, filter));
    }
    return rows;
  } finally {
    await gateway.stop();
    await qdrant?.stop();
    upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Points that differ, by calls that nobody times. */
async function fill({ client }: RunningGateway, points: Points, name: string, size: number): Promise<void> {
  await client.send('POST', path, { name, vector_size: dimensions, distance: 'Cosine' });
  for (let from = 0; from < size; from += batchPoints) {
    const body = prepareBody(points.batch(from, batchPoints), from);
    await client.send('PUT', `${path}/${name}/points`, body(from));
  }
}

function shown(values: readonly number[]): string {
  return `${percentile(values, 0.5).toFixed(2)} / ${percentile(values, 0.99).toFixed(2)}`;
}
