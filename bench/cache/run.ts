// node bench/run.mjs cache

import { Agent, request } from 'node:http';
import { cpuSeconds, loadCore, pin, startCulvert, startUpstream } from '../gateway/processes.ts';
import { median } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print } from '../rows.ts';
import { measureSemantic } from './measure-semantic.ts';

const rounds = 7;
const roundMs = 2_000;
/** The compiler is busy until then. */
const warmMs = 8_000;
const connections = 16;

pin(process.pid, loadCore);
const upstream = await startUpstream();
const target = { provider: 'same', model: 'bench-model', price: { input: 1, output: 2 } };
const culvert = await startCulvert({
  upstreamPort: upstream.port,
  models: {
    plain: { tier: 'premium', targets: [target] },
    cached: { tier: 'premium', targets: [target], cache: { ttl: '1h' } },
  },
});
const agent = new Agent({ keepAlive: true, maxSockets: connections });

let asked = 0;
const newText = () => {
  asked += 1;
  return `question ${asked}`;
};
const kinds = {
  refused: () => ({ model: 'nobody-has-it', text: 'one' }),
  hit: () => ({ model: 'cached', text: 'one' }),
  plain: () => ({ model: 'plain', text: newText() }),
  miss: () => ({ model: 'cached', text: newText() }),
};
type Kind = keyof typeof kinds;

/** Status and ms of one request. */
function ask(kind: Kind): Promise<{ status: number; ms: number }> {
  const { model, text } = kinds[kind]();
  const messages = [
    { role: 'system', content: 'You are a helpful assistant. Answer in a few words.' },
    { role: 'user', content: `What is the height of the tower? bench:whole ${text}` },
  ];
  const body = JSON.stringify({ model, messages, temperature: 0.7, max_tokens: 512 });
  const headers = { ...culvert.headers, 'content-type': 'application/json' };
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(
      { agent, port: culvert.port, method: 'POST', path: '/v1/chat/completions', headers },
      (response) => {
        response.resume();
        response.on('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - startMs }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** CPU of the gateway for one request, µs, in a closed loop. */
async function cpuUs(kind: Kind, forMs: number): Promise<number> {
  const before = cpuSeconds(culvert.pid);
  const endMs = performance.now() + forMs;
  let count = 0;
  async function loop(): Promise<void> {
    while (performance.now() < endMs) {
      const { status } = await ask(kind);
      if (status !== (kind === 'refused' ? 404 : 200)) throw new Error(`${kind}: ${status}`);
      count += 1;
    }
  }
  await Promise.all(Array.from({ length: connections }, loop));
  return ((cpuSeconds(culvert.pid) - before) / count) * 1e6;
}

const us = { unit: ' µs', digits: 1 };
try {
  for (const kind of ['refused', 'plain', 'miss', 'hit'] as const) await cpuUs(kind, warmMs / 4);
  await cpuUs('hit', warmMs / 2);
  const all: Record<Kind, number[]> = { refused: [], hit: [], plain: [], miss: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of ['refused', 'hit', 'plain', 'miss'] as const) all[kind].push(await cpuUs(kind, roundMs));
  }
  const over = (one: Kind, other: Kind) => all[one].map((value, round) => value - (all[other][round] ?? 0));
  const waits: number[] = [];
  for (let n = 0; n < 2_000; n += 1) waits.push((await ask('hit')).ms);
  const rows = [
    judged('an exact hit, CPU over a refused request', over('hit', 'refused'), { atMost: 40, ...us }),
    judged('a miss, CPU over no cache', over('miss', 'plain'), { atMost: 4, ...us }),
    judged('a refused request, CPU', [median(all.refused)], us),
    judged('a request without a cache, CPU', [median(all.plain)], us),
    judged('an exact hit, p50 of one caller', [median(waits)], { atMost: 0.5, unit: ' ms', digits: 2 }),
    ...(await measureSemantic()),
  ];
  print(rows);
  finish({
    subject: 'cache',
    command: 'npm run bench -- cache',
    how: 'Gateway on core 0, load and upstream on core 1; rounds in turns after 8 s, whose differences are judged. A semantic look-up is the row in SQLite, its questions and the kept answer, without the embedding.',
    rows,
  });
} finally {
  await culvert.stop();
  upstream.stop();
}
