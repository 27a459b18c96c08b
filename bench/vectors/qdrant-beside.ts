import { spawnSync } from 'node:child_process';
import { qdrantMissing, startQdrant } from '../../test/start-qdrant.ts';
import { residentMb } from '../gateway/processes.ts';
import { type Row, told } from '../rows.ts';
import { createGatewayClient, type GatewayClient } from './gateway-client.ts';
import { type Searched, searchOnce } from './measure-searches.ts';
import { batchPoints, dimensions, type Points } from './points.ts';
import { prepareBody } from './prepare-body.ts';

/** A Qdrant that holds the same points. */
export interface QdrantBeside {
  searched: Searched;
  /** Collections by their sizes, with an index on what filters name, complete when this resolves. */
  fill(points: Points, sizes: Readonly<Record<string, number>>): Promise<Row[]>;
  /** After a start; kill -9 ended the process before. */
  firstSearch(name: string, query: Float32Array, filter: Parameters<typeof searchOnce>[3]): Promise<Row>;
  stop(): Promise<void>;
}

/** The program that QDRANT_BIN names, on these cores; null: none is named. */
export async function qdrantBeside(cores: string): Promise<QdrantBeside | null> {
  if (qdrantMissing !== false) return null;
  const ends: (() => unknown)[] = [];
  const node = await startQdrant({ after: (end) => void ends.push(end) });
  const bind = () => spawnSync('taskset', ['-acp', cores, String(node.pid)]);
  bind();
  const searched: Searched = { port: Number(new URL(node.url).port), path: '/collections' };
  const client = createGatewayClient(searched.port);
  return {
    searched,
    async fill(points, sizes) {
      const startedMs = performance.now();
      for (const [name, size] of Object.entries(sizes)) await fillOne(client, points, name, size);
      const all = Object.values(sizes).reduce((sum, size) => sum + size, 0);
      const seconds = (performance.now() - startedMs) / 1_000;
      return [
        told(
          `Qdrant ${await versionOf(node.url)}: ${all} points written and indexed; memory`,
          `${(all / seconds).toFixed(0)} points/s; ${residentMb(node.pid).toFixed(0)} MB`,
        ),
      ];
    },
    async firstSearch(name, query, filter) {
      await node.kill();
      const startedMs = performance.now();
      await node.restart();
      const upMs = performance.now() - startedMs;
      bind();
      await searchOnce(searched, name, query, filter);
      return told('… Qdrant', `${upMs.toFixed(0)} ms; ${(performance.now() - startedMs).toFixed(0)} ms`);
    },
    async stop() {
      client.close();
      for (const end of ends.toReversed()) await end();
    },
  };
}

async function fillOne(client: GatewayClient, points: Points, name: string, size: number): Promise<void> {
  const path = `/collections/${name}`;
  await client.send('PUT', path, { vectors: { size: dimensions, distance: 'Cosine' } });
  for (const field of ['tenth', 'group'])
    await client.send('PUT', `${path}/index?wait=true`, { field_name: field, field_schema: 'integer' });
  for (let from = 0; from < size; from += batchPoints)
    await client.send('PUT', `${path}/points?wait=true`, prepareBody(points.batch(from, batchPoints), from)(from));
  for (;;) {
    const { result } = JSON.parse((await client.send('GET', path)).toString()) as { result: { status: string } };
    if (result.status === 'green') return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function versionOf(url: string): Promise<string> {
  return ((await (await fetch(url)).json()) as { version: string }).version;
}
