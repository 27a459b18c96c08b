import { join } from 'node:path';
import { judged, type Row, told } from '../rows.ts';
import { Connection } from './load.ts';
import { type Bench, wholeRequest } from './measure-requests.ts';
import { cpuSeconds, culvertHeaders, launchCulvert, scratchFolder } from './processes.ts';

interface Start {
  ms: number;
  cpuMs: number;
}

/** From the spawn of `node bin/culvert.mjs` to the first 200 of a chat completion. */
async function oneStart(bench: Bench, folder: string, compileCache: string): Promise<Start> {
  const startedMs = performance.now();
  const { child, port } = await launchCulvert({
    upstreamPort: bench.upstream.port,
    folder,
    env: { NODE_COMPILE_CACHE: compileCache },
  });
  const request = wholeRequest({ headers: culvertHeaders });
  for (;;) {
    const connection = new Connection(port);
    const outcome = await new Promise((resolve) => connection.send(request, resolve));
    connection.close();
    if (outcome === 'ok') break;
    if (performance.now() - startedMs > 20_000) throw new Error('it did not start within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const result = { ms: performance.now() - startedMs, cpuMs: cpuSeconds(child.pid!) * 1_000 };
  // A moment for its writes after the start.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
  return result;
}

export async function measureStart(bench: Bench): Promise<Row[]> {
  const rounds = bench.mode === 'quick' ? 3 : 7;
  const first: Start[] = [];
  const cached: Start[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const folder = scratchFolder();
    const cache = join(folder, 'compile-cache');
    first.push(await oneStart(bench, folder, cache));
    cached.push(await oneStart(bench, folder, cache));
  }
  const ms = (starts: readonly Start[]) => starts.map((start) => start.ms / 1_000);
  const cpu = (starts: readonly Start[]) => Math.min(...starts.map((start) => start.cpuMs)).toFixed(0);
  return [
    judged('cold start to the first 200, cached', ms(cached), { atMost: 0.4, unit: ' s', digits: 2 }),
    judged('… first ever', ms(first), { atMost: 0.8, unit: ' s', digits: 2 }),
    told('… CPU of it: cached, first ever (best)', `${cpu(cached)}, ${cpu(first)} ms`),
  ];
}
