import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { qdrantMissing, startQdrant } from '../../test/start-qdrant.ts';
import { loadCore, proxyCore, residentMb, scratchFolder, startUpstream } from '../gateway/processes.ts';
import { judged, type Row, told } from '../rows.ts';
import { measureSearches } from './measure-searches.ts';
import { batchPoints, createPoints, dimensions } from './points.ts';
import { prepareBody } from './prepare-body.ts';
import { startWatchedGateway } from './watched-gateway.ts';

const path = '/v1/vectors/collections';
const name = 'over-qdrant';
/** Qdrant makes its index behind the writes. */
const indexedWithinMs = 6 * 3_600_000;

/** Points that a gateway keeps in a Qdrant: of QDRANT_BIN, or one that runs at QDRANT_URL. */
export async function measureOverQdrant(count: number): Promise<Row[]> {
  const running = process.env.QDRANT_URL ?? '';
  if (running === '' && qdrantMissing !== false) throw new Error(`${qdrantMissing}, and QDRANT_URL names none`);
  const ends: (() => unknown)[] = [];
  const node = running === '' ? await startQdrant({ after: (end) => void ends.unshift(end) }) : null;
  const url = node?.url ?? running;
  const key = process.env.QDRANT_API_KEY;
  const folder = scratchFolder();
  const upstream = await startUpstream();
  const gateway = await startWatchedGateway({
    upstreamPort: upstream.port,
    folder,
    cores: `${proxyCore},${loadCore}`,
    sections: { vectors: { engine: 'qdrant', url, ...(key !== undefined && { api_key: key }) } },
  });
  try {
    const points = createPoints(4);
    await gateway.client.send('POST', path, { name, vector_size: dimensions, distance: 'Cosine' });
    const startedMs = performance.now();
    for (let from = 0; from < count; from += batchPoints)
      await gateway.client.send(
        'PUT',
        `${path}/${name}/points`,
        prepareBody(points.batch(from, batchPoints), from)(from),
      );
    const writtenS = (performance.now() - startedMs) / 1_000;
    await indexed(url, key);
    const indexedS = (performance.now() - startedMs) / 1_000;
    const { result } = JSON.parse((await gateway.client.send('GET', `${path}/${name}`)).toString()) as {
      result: { points_count: number };
    };
    const qdrantMb = node === null ? 'unknown' : `${residentMb(node.pid).toFixed(0)} MB`;
    return [
      told(
        `${count} points over a Qdrant: written; with its index; memory of Culvert, of Qdrant`,
        `${(count / writtenS).toFixed(0)} points/s; ${indexedS.toFixed(0)} s; ${residentMb(gateway.pid).toFixed(0)} MB, ${qdrantMb}`,
      ),
      judged('… acknowledged and not there', [count - result.points_count], { atMost: 0, unit: '', digits: 0 }),
      ...(await measureSearches({ port: gateway.port, path }, null, { name, size: count }, points.queries(200))),
    ];
  } finally {
    await gateway.stop();
    for (const end of ends) await end();
    upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves when Qdrant has indexed every collection. */
async function indexed(url: string, key: string | undefined): Promise<void> {
  const ask = async (path: string) => {
    const answer = await fetch(url + path, key === undefined ? {} : { headers: { 'api-key': key } });
    return (await answer.json()) as { result: { collections: { name: string }[]; status: string } };
  };
  const { result } = await ask('/collections');
  const untilMs = performance.now() + indexedWithinMs;
  for (const collection of result.collections)
    while ((await ask(`/collections/${collection.name}`)).result.status !== 'green') {
      if (performance.now() > untilMs) throw new Error(`Qdrant does not end its index of ${collection.name}`);
      await pause(1_000);
    }
}
