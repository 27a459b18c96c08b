// node bench/run.mjs http2

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';
import type { Cost, HttpVersion, Order } from './asker.ts';

const rounds = 5;
const [warmUpMs, settleMs, measuredMs] = [8_000, 1_000, 4_000];
const versions = ['http/1.1', 'http/2'] as const;

const upstream = fork(new URL('./upstream.ts', import.meta.url));
const [port] = await once(upstream, 'message');
const askers = Object.fromEntries(
  versions.map((version) => [version, fork(new URL('./asker.ts', import.meta.url), [version, String(port)])]),
) as Record<HttpVersion, ChildProcess>;

async function run(version: HttpVersion, order: Order): Promise<Cost> {
  askers[version].send(order);
  const [cost] = (await once(askers[version], 'message')) as [Cost];
  if (cost.failed > 0) throw new Error(`${version}: ${cost.failed} requests failed`);
  return cost;
}

/** Both versions in turns, after both were warmed up. */
async function inTurns(load: Pick<Order, 'path' | 'atOnce'>): Promise<Record<HttpVersion, Cost[]>> {
  const costs: Record<HttpVersion, Cost[]> = { 'http/1.1': [], 'http/2': [] };
  for (const version of versions) await run(version, { ...load, warmUpMs, measuredMs: 0 });
  for (let round = 0; round < rounds; round += 1)
    for (const version of versions)
      costs[version].push(await run(version, { ...load, warmUpMs: settleMs, measuredMs }));
  return costs;
}

function rowsOf(what: string, costs: Record<HttpVersion, Cost[]>, of: 'events' | 'answers'): Row[] {
  const us = (cost: Cost) => cost.cpuUs / cost[of];
  const [one, two] = [costs['http/1.1'], costs['http/2']];
  const last = (of: Cost[], what: 'connections' | 'residentMb') => of.at(-1)![what].toFixed(0);
  return [
    judged(
      `${what}: CPU over HTTP/2 ÷ over HTTP/1.1`,
      two.map((cost, round) => us(cost) / us(one[round]!)),
      { unit: '', digits: 2 },
    ),
    judged('… HTTP/1.1', one.map(us), { unit: ' µs', digits: 1 }),
    judged('… HTTP/2', two.map(us), { unit: ' µs', digits: 1 }),
    told('… connections: HTTP/1.1, HTTP/2', `${last(one, 'connections')}, ${last(two, 'connections')}`),
    told('… resident memory: HTTP/1.1, HTTP/2', `${last(one, 'residentMb')}, ${last(two, 'residentMb')} MB`),
  ];
}

const rows = [
  ...rowsOf('1,000 streams, a chunk', await inTurns({ path: '/stream', atOnce: 1_000 }), 'events'),
  ...rowsOf('whole answers, c=64, a request', await inTurns({ path: '/whole', atOnce: 64 }), 'answers'),
];
print(rows);
finish({
  subject: 'http2',
  command: 'node bench/run.mjs http2',
  how: `CPU of the transport's process, all threads, over TLS to an upstream in a process of its own, the two versions in
turns after 8 s of load each; medians of five rounds of 4 s. A stream is 100 events of 188 bytes, 20 ms apart, and is asked
for anew when it has ended; a whole answer has 800 bytes, every request 1 KB.`,
  rows,
});
