// node bench/run.mjs batches [--lines=100000]
// A batch over an upstream that answers at once, against the same chats sent directly.
import { setTimeout as pause } from 'node:timers/promises';
import { closedLoop } from '../gateway/load.ts';
import { cpuSeconds, residentMb, startCulvert, startUpstream } from '../gateway/processes.ts';
import { chatRequest } from '../gateway/wire.ts';
import { percentile } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';
import { startChats } from '../vectors/chat-thread.ts';

const lines = Number(/--lines=(\d+)/.exec(process.argv.join(' '))?.[1] ?? 100_000);
const warmLines = 5_000;
const lookMs = 100;
/** As many as a tenant alone has of a batch's places. */
const connections = 24;
const directSeconds = 5;
const chatSeconds = 5;

const upstream = await startUpstream();
const culvert = await startCulvert({ upstreamPort: upstream.port });
const at = `http://127.0.0.1:${culvert.port}/v1`;

interface Batch {
  id: string;
  status: string;
  output_file_id: string | null;
  request_counts: { total: number; completed: number; failed: number };
}

async function asked<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(at + path, { ...init, headers: { ...culvert.headers, ...init.headers } });
  if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Uploads so many lines, and begins a batch of them. */
async function begin(count: number): Promise<Batch> {
  const pieces: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const body = {
      model: 'same',
      messages: [{ role: 'user', content: `Line ${index} of a file. What is the height of the tower? bench:whole` }],
    };
    pieces.push(`${JSON.stringify({ custom_id: `l-${index}`, method: 'POST', url: '/v1/chat/completions', body })}\n`);
  }
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob(pieces), 'lines.jsonl');
  const file = await asked<{ id: string }>('/files', { method: 'POST', body: form });
  return asked<Batch>('/batches', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }),
  });
}

/** How a batch ends that is never completed. */
const ends: readonly string[] = ['failed', 'expired', 'cancelled'];

interface Ran {
  seconds: number;
  /** The most that was resident meanwhile. */
  peakMb: number;
  cpuSeconds: number;
}

/** Begins a batch, and waits for its end; `meanwhile` runs once its lines do. */
async function run(count: number, meanwhile?: () => Promise<void>): Promise<Ran> {
  const cpuBefore = cpuSeconds(culvert.pid);
  const { id } = await begin(count);
  const startMs = performance.now();
  let peakMb = 0;
  let other: Promise<void> | null = null;
  for (;;) {
    await pause(lookMs);
    peakMb = Math.max(peakMb, residentMb(culvert.pid));
    const batch = await asked<Batch>(`/batches/${id}`);
    if (batch.request_counts.completed > 0) other ??= meanwhile?.() ?? Promise.resolve();
    if (ends.includes(batch.status)) throw new Error(`the batch is ${JSON.stringify(batch)}`);
    if (batch.status !== 'completed') continue;
    if (batch.request_counts.completed !== count) throw new Error(`${JSON.stringify(batch.request_counts)}`);
    await other;
    const seconds = (performance.now() - startMs) / 1_000;
    return { seconds, peakMb, cpuSeconds: cpuSeconds(culvert.pid) - cpuBefore };
  }
}

const request = chatRequest({ headers: culvert.headers, model: 'same', stream: null });
async function direct(): Promise<number> {
  const { requests, errors, seconds } = await closedLoop({
    port: culvert.port,
    request,
    connections,
    seconds: directSeconds,
  });
  if (errors > 0) throw new Error(`${errors} of ${requests} requests failed`);
  return requests / seconds;
}

await direct();
await run(warmLines);
const directBefore = await direct();
const small = await run(warmLines);
const large = await run(lines);
const directAfter = await direct();
const perSecond = lines / large.seconds;
const sent = (directBefore + directAfter) / 2;

const alone = startChats(culvert.port);
await pause(chatSeconds * 1_000);
const quiet = await alone.stop();
let beside = quiet;
await run(warmLines * 4, async () => {
  const chats = startChats(culvert.port);
  await pause(chatSeconds * 1_000);
  beside = await chats.stop();
});

const times = (took: number[]) => [0.5, 0.99].map((share) => `${percentile(took, share).toFixed(1)} ms`).join(', ');
const rows: Row[] = [
  told(`lines a second, of ${lines}`, perSecond.toFixed(0)),
  told(`… the same chats sent directly, ${connections} connections`, `${sent.toFixed(0)} a second`),
  told('… share of it', (perSecond / sent).toFixed(2)),
  told('CPU for a line', `${((large.cpuSeconds / lines) * 1e6).toFixed(0)} µs`),
  judged(`peak memory with ${lines} lines, above that with ${warmLines}`, [large.peakMb - small.peakMb], {
    atMost: 60,
    unit: ' MB',
    digits: 0,
  }),
  told('… peak memory', `${large.peakMb.toFixed(0)} MB`),
  told('chat p50, p99 without a batch', times(quiet)),
  told('… beside one', times(beside)),
];
print(rows);
await culvert.stop();
upstream.stop();
finish(
  {
    subject: 'batches',
    command: 'node bench/run.mjs batches',
    how: `Chats of some 200 bytes over an upstream that answers at once; gateway on core 0 with every limit, ledger in SQLite and a
log line a request, load and upstream on core 1. Chats beside a batch come 40 a second.`,
    rows,
  },
  lines === 100_000,
);
