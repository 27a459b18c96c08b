import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { judged, type Row } from '../rows.ts';
import { closedLoop } from './load.ts';
import { type Bench, throughput, wholeRequest } from './measure-requests.ts';
import { rest } from './measure-streams.ts';
import { scratchFolder, startCulvert } from './processes.ts';

/** Of a plan without limits, at the same gateway. */
const freeKey = 'sk-cv-bench-free-0001';
const warmSeconds = 8;

/** What limits cost, and what a request leaves to the garbage collector. */
export async function measureWeight(bench: Bench): Promise<Row[]> {
  return [...(await measureLimits(bench)), ...(await measureAllocations(bench))];
}

/** Two keys of one gateway, in turns. */
async function measureLimits(bench: Bench): Promise<Row[]> {
  const [rounds, seconds] = bench.mode === 'quick' ? [3, 1.5] : [9, 3];
  const limited = await startCulvert({
    upstreamPort: bench.upstream.port,
    plans: { free: { windows: 'off', rpm: 'off' } },
    keys: [{ key: freeKey, account: 'free', name: 'bench', plan: 'free' }],
  });
  const free = { ...limited, headers: { authorization: `Bearer ${freeKey}` } };
  try {
    for (const one of [limited, free]) await throughput(bench, one, 64, warmSeconds);
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { perCpuSecond } = await throughput(bench, limited, 64, seconds);
      ratios.push((await throughput(bench, free, 64, seconds)).perCpuSecond / perCpuSecond);
    }
    return [
      judged('CPU per request with every kind of limit ÷ with none, c=64', ratios, {
        ...{ atMost: 1.05, unit: '', digits: 3 },
      }),
    ];
  } finally {
    await limited.stop();
  }
}

async function measureAllocations(bench: Bench): Promise<Row[]> {
  const requests = bench.mode === 'quick' ? 10_000 : 50_000;
  const file = join(scratchFolder(), 'bytes');
  const culvert = await startCulvert({
    upstreamPort: bench.upstream.port,
    env: {
      CULVERT_ALLOCATIONS: file,
      NODE_OPTIONS: `--import=${fileURLToPath(new URL('./count-allocations.mjs', import.meta.url))}`,
    },
  });
  const load = { port: culvert.port, request: wholeRequest(culvert), connections: 64 };
  try {
    await closedLoop({ ...load, seconds: warmSeconds });
    process.kill(culvert.pid, 'SIGUSR2');
    await rest(100);
    await closedLoop({ ...load, seconds: 600, requestsMax: requests });
    process.kill(culvert.pid, 'SIGUSR2');
    while (!existsSync(file)) await rest(20);
    const bytes = Number(readFileSync(file, 'utf8')) / requests;
    return [judged('allocated for a request, c=64', [bytes / 1_024], { atMost: 20, unit: ' KB', digits: 1 })];
  } finally {
    await culvert.stop();
  }
}
