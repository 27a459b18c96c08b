// node bench/run.mjs overload [--seconds=5] [--connections=1000]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as after } from 'node:timers/promises';
import { closedLoop } from '../gateway/load.ts';
import {
  cpuSeconds,
  culvertHeaders,
  loadCore,
  pin,
  type Subject,
  startCulvert,
  startUpstream,
} from '../gateway/processes.ts';
import { chatRequest } from '../gateway/wire.ts';
import { percentile } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';
import { type CallersOrder, type CallersSaw, openCallers } from './callers.ts';

const argument = (name: string, or: number) =>
  Number(process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3) ?? or);
const seconds = argument('seconds', 5);
const connections = argument('connections', 1_000);
const patienceMs = 2_000;
/** What the account with few requests asks for, and how often health is looked at. */
const fewPerSecond = 20;
const fewConnections = 10;

const fewKey = 'sk-cv-bench-key-few-1';
const model = { model: 'same', stream: null };
const chat = chatRequest({ headers: culvertHeaders, ...model });
const few = chatRequest({ headers: { authorization: `Bearer ${fewKey}` }, ...model });
const health = 'GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n';

pin(process.pid, loadCore);
const upstream = await startUpstream();
const keys = [{ key: fewKey, account: 'few', name: 'few', plan: 'bench' }];
const culvert = await startCulvert({ upstreamPort: upstream.port, keys });
/** Refuses what would wait for longer than a quarter of a second. */
const strict = await startCulvert({ upstreamPort: upstream.port, keys, server: { overload: { delay: '250ms' } } });
/** What as many connections can get where nobody is refused. */
const unbound = await startCulvert({ upstreamPort: upstream.port, keys, server: { overload: 'off' } });
const flood = fork(new URL('./callers.ts', import.meta.url));
pin(flood.pid ?? 0, loadCore);
// Nobody would answer for it, and its orders would wait for ever.
flood.once('exit', (code) => {
  if (code) process.exit(code);
});
const rows: Row[] = [];
try {
  for (const { port } of [culvert, strict, unbound])
    await closedLoop({ port, request: chat, connections: 64, seconds: 4 });
  const capacity = await capacityOf(connections);
  const few64 = await capacityOf(64);
  rows.push(
    ...print([
      told(
        `capacity: ${connections} connections, each asks again as soon as it is answered, overload off`,
        shown(capacity),
      ),
      told('… 64 connections', shown(few64)),
    ]),
  );
  // Refusals are compiled by then, too.
  for (const gateway of [culvert, strict]) await measure(gateway, 3, capacity);
  for (const times of [1, 3, 10]) rows.push(...print(await measure(culvert, times, capacity)));
  for (const times of [3, 10]) rows.push(...print(await measure(strict, times, capacity)));
} finally {
  flood.kill();
  await culvert.stop();
  await strict.stop();
  await unbound.stop();
  upstream.stop();
}
finish(
  {
    subject: 'overload',
    command: 'node bench/run.mjs overload',
    how: `Callers that come at a rate over ${connections} kept connections, whether others are answered or not. They give up after
${patienceMs / 1_000} s, and come again a second after a refusal, as Retry-After says. The gateway is on one core, callers and
upstream on the other. Goodput: answers in shares of the capacity over as many connections, which was measured just before
on a gateway that refuses nobody; per CPU-second of the gateway, since other work shares its core.`,
    rows,
  },
  seconds >= 5,
);

interface Capacity {
  perSecond: number;
  perCpu: number;
}

async function capacityOf(many: number): Promise<Capacity> {
  const cpuBefore = cpuSeconds(unbound.pid);
  const order = { port: unbound.port, request: chat, connections: many };
  const { requests, seconds: tookS } = await closedLoop({ ...order, seconds });
  return { perSecond: requests / tookS, perCpu: requests / (cpuSeconds(unbound.pid) - cpuBefore) };
}

function shown({ perSecond, perCpu }: Capacity): string {
  return `${perSecond.toFixed(0)} / s, ${perCpu.toFixed(0)} per CPU-second`;
}

async function measure(gateway: Subject, times: number, capacity: Capacity): Promise<Row[]> {
  const perSecond = capacity.perSecond * times;
  const order = { port: gateway.port, seconds, patienceMs, restMs: 1_000 };
  const little = { ...order, perSecond: fewPerSecond, connections: fewConnections };
  const runs = await Promise.all([
    openFlood({ ...order, perSecond, connections, request: chat.toString('latin1') }),
    openCallers({ ...little, request: few.toString('latin1') }),
    openCallers({ ...little, request: health }),
  ]);
  await after(1_000);
  const cpuBefore = cpuSeconds(gateway.pid);
  const [saw, fews, looks] = await Promise.all([runs[0](), runs[1](), runs[2]()]);
  const cpu = cpuSeconds(gateway.pid) - cpuBefore;
  const backMs = await recovery(gateway);
  const answered = saw.answeredMs.length + fews.answeredMs.length;
  // At its capacity it need not answer more than it is asked for.
  const possible = Math.min(saw.sent + fews.sent, cpu * capacity.perCpu);
  return [
    judged(
      `${times}×${gateway === strict ? ', `delay` 250 ms' : ''}: goodput, in shares of capacity`,
      [answered / possible],
      {
        atLeast: 0.9,
        unit: '',
        digits: 2,
      },
    ),
    told(
      '… asked; with no connection left, all their callers waiting to come again',
      `${(saw.sent / seconds).toFixed(0)} / s; ${(saw.unsent / seconds).toFixed(0)} / s`,
    ),
    told('… answered, p50 / p99', both(saw.answeredMs)),
    told('… refused, p50 / p99', saw.refusedMs.length === 0 ? 'none' : both(saw.refusedMs)),
    ...(saw.refusedMs.length === 0 ? [] : [refusedRow(saw.refusedMs)]),
    told('… given up', `${saw.lost}`),
    told('… an account with few requests: answered, p50 / p99', `${both(fews.answeredMs)}, of ${fews.sent}`),
    told('… /healthz: answered, p50 / p99', `${both(looks.answeredMs)}, of ${looks.sent}`),
    judged('… answered in 50 ms again after', [backMs / 1_000], { atMost: 2, unit: ' s', digits: 2 }),
  ];
}

/** In a process of its own, so that what the others measure is not its lateness. */
async function openFlood(order: CallersOrder): Promise<() => Promise<CallersSaw>> {
  flood.send(order);
  await once(flood, 'message');
  return async () => {
    flood.send('run');
    const [saw] = (await once(flood, 'message')) as [CallersSaw];
    return saw;
  };
}

function refusedRow(ms: readonly number[]): Row {
  const sorted = [...ms].sort((a, b) => a - b);
  return judged('… refused within, p99', [percentile(sorted, 0.99)], { atMost: 50, unit: ' ms', digits: 0 });
}

function both(ms: readonly number[]): string {
  const sorted = [...ms].sort((a, b) => a - b);
  return `${ms.length}, ${percentile(sorted, 0.5).toFixed(0)} / ${percentile(sorted, 0.99).toFixed(0)} ms`;
}

/** Ms until a caller of the flooding account is answered in 50 ms. */
async function recovery({ port }: Subject): Promise<number> {
  const startMs = performance.now();
  for (;;) {
    const askedMs = performance.now();
    const { requests, errors } = await closedLoop({
      port,
      request: chat,
      connections: 1,
      seconds: patienceMs / 1_000,
      requestsMax: 1,
    });
    const nowMs = performance.now();
    if (requests > errors && nowMs - askedMs < 50) return askedMs - startMs;
    if (nowMs - startMs > 20_000) return 20_000;
    await after(10);
  }
}
