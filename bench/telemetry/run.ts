// node bench/run.mjs telemetry [--rounds=9]
// What traces and metrics by OTLP cost, against the same build without them.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as rest } from 'node:timers/promises';
import { closedLoop } from '../gateway/load.ts';
import { cpuSeconds, loadCore, pin, type Subject, startCulvert, startUpstream } from '../gateway/processes.ts';
import { openStreams } from '../gateway/streams.ts';
import { chatRequest } from '../gateway/wire.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';

const rounds = Number(/--rounds=(\d+)/.exec(process.argv.join(' '))?.[1] ?? 9);
/** The compiler is busy until then. */
const warmSeconds = 8;
const roundSeconds = 2;
const connections = 10;
const streamsAtOnce = 100;
const streamSeconds = 3;

const upstream = await startUpstream();
const receiver = fork(new URL('./receiver.ts', import.meta.url));
pin(receiver.pid!, loadCore);
const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
const sent = async () => {
  receiver.send('bytes');
  return ((await once(receiver, 'message')) as [{ bytes: number }])[0].bytes;
};

const start = (otlp: object | null) =>
  startCulvert({
    upstreamPort: upstream.port,
    sections: otlp === null ? {} : { telemetry: { otlp: { endpoint: `http://127.0.0.1:${port}`, ...otlp } } },
  });
const off = await start(null);
const again = await start(null);
const traces = await start({ metrics: false });
const metrics = await start({ traces: false });
const all = [off, again, traces, metrics];

/** Each in turn, the order turning: what the machine does besides falls on all alike. */
async function inTurns(of: readonly Subject[], cost: (one: Subject) => Promise<number>): Promise<number[][]> {
  const costs = of.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < of.length; turn += 1) {
      const at = (turn + round) % of.length;
      costs[at]!.push(await cost(of[at]!));
    }
  }
  return costs;
}

/** µs of CPU that one whole answer takes. */
async function requestCost(one: Subject, seconds = roundSeconds): Promise<number> {
  const request = chatRequest({ headers: one.headers, model: 'same', stream: null });
  const before = cpuSeconds(one.pid);
  const { requests, errors } = await closedLoop({ port: one.port, request, connections, seconds });
  if (errors > 0) throw new Error(`${errors} of ${requests} requests failed`);
  return ((cpuSeconds(one.pid) - before) / requests) * 1e6;
}

/** µs of CPU that one chunk of paced streams takes. */
async function chunkCost(one: Subject): Promise<number> {
  const request = chatRequest({ headers: one.headers, model: 'same', stream: 'paced' });
  const readers = await openStreams(one.port, request, streamsAtOnce);
  await rest(500);
  const count = () => readers.reduce((sum, { chunks }) => sum + chunks, 0);
  const [chunks, before] = [count(), cpuSeconds(one.pid)];
  await rest(streamSeconds * 1_000);
  const cost = ((cpuSeconds(one.pid) - before) / (count() - chunks)) * 1e6;
  for (const reader of readers) reader.close();
  await rest(200);
  return cost;
}

const over = (a: readonly number[], b: readonly number[]) => a.map((value, round) => value - b[round]!);
const part = (a: readonly number[], b: readonly number[]) => a.map((value, round) => value / b[round]!);

for (const one of all) await requestCost(one, warmSeconds);
const bytesBefore = await sent();
const [plain, same, traced, measured] = (await inTurns(all, requestCost)) as [number[], number[], number[], number[]];
const kilobytes = ((await sent()) - bytesBefore) / 1_024;
for (const one of all) await chunkCost(one);
const [plainChunks, , tracedChunks] = (await inTurns([off, again, traces], chunkCost)) as [
  number[],
  number[],
  number[],
];
const rows: Row[] = [
  judged('traces of all requests, CPU a request more', over(traced, plain), { atMost: 8, unit: ' µs', digits: 1 }),
  judged('metrics, CPU a request ÷ without', part(measured, plain), { atMost: 1.02, unit: '', digits: 3 }),
  judged('traces, CPU a chunk ÷ without', part(tracedChunks, plainChunks), { atMost: 1.03, unit: '', digits: 3 }),
  judged('without, CPU a request', plain, { unit: ' µs', digits: 1 }),
  judged('a second one without, CPU a request more: the noise', over(same, plain), { unit: ' µs', digits: 1 }),
  told('sent by OTLP meanwhile', `${(kilobytes / 1_024).toFixed(0)} MB`),
];
print(rows);
for (const one of all) await one.stop();
upstream.stop();
receiver.kill();
finish({
  subject: 'telemetry',
  command: 'node bench/run.mjs telemetry',
  how: `CPU of the process, all threads, the same build with and without \`telemetry.otlp\`, in turns after ${warmSeconds} s of
load each; medians of ${rounds} rounds of ${roundSeconds} s, c=${connections}, whole answers of 2 KB; ${streamsAtOnce} streams of a chunk each 20 ms for
${streamSeconds} s. A trace has four spans; the receiver has the load's core.`,
  rows,
});
