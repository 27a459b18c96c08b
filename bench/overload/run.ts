// node bench/run.mjs overload [--seconds=5]
import { connect, type Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { closedLoop, percentile } from '../gateway/load.ts';
import { culvertHeaders, startCulvert, startUpstream } from '../gateway/processes.ts';
import { chatRequest } from '../gateway/wire.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';

const seconds = Number(process.argv.find((one) => one.startsWith('--seconds='))?.slice(10) ?? 5);
/** A caller's patience: what comes later is of no use to it. */
const patienceMs = 2_000;
const connectionsMax = 4_000;

const chat = chatRequest({ headers: culvertHeaders, model: 'same', stream: null });
const health = Buffer.from('GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n');

interface Seen {
  status: number;
  ms: number;
}

/** A kept-alive connection for one request at a time; 0 for one that broke or was given up. */
class Caller {
  readonly #socket: Socket;
  #done: ((status: number) => void) | null = null;
  #bytes: Buffer = Buffer.alloc(0);
  readonly isUsable = () => !this.#socket.destroyed;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => this.#end(0));
  }

  ask(request: Buffer): Promise<Seen> {
    const startMs = performance.now();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.close(), patienceMs);
      this.#done = (status) => {
        clearTimeout(timer);
        resolve({ status, ms: performance.now() - startMs });
      };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
    this.#end(0);
  }

  #read(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const headEnd = this.#bytes.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#bytes.toString('latin1', 0, headEnd);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    const isWhole =
      length === undefined
        ? this.#bytes.subarray(-5).toString('latin1') === '0\r\n\r\n'
        : this.#bytes.length >= headEnd + 4 + Number(length);
    if (!isWhole) return;
    this.#bytes = Buffer.alloc(0);
    this.#end(Number(head.slice(9, 12)));
  }

  #end(status: number): void {
    const done = this.#done;
    this.#done = null;
    done?.(status);
  }
}

const upstream = await startUpstream();
const culvert = await startCulvert({ upstreamPort: upstream.port });
const rows: Row[] = [];
try {
  const warm = { port: culvert.port, request: chat, connections: 64 };
  await closedLoop({ ...warm, seconds: 4 });
  const { requests, seconds: tookS } = await closedLoop({ ...warm, seconds });
  const capacity = requests / tookS;
  rows.push(
    ...print([
      told('capacity: 64 connections, each asks again as soon as it is answered', `${capacity.toFixed(0)} / s`),
    ]),
  );
  for (const times of [1, 3, 10]) rows.push(...print(await measure(times, capacity)));
} finally {
  await culvert.stop();
  upstream.stop();
}
finish(
  {
    subject: 'overload',
    command: 'node bench/run.mjs overload',
    how: `Callers that come at a rate, whether others are answered or not, and give up after ${patienceMs / 1_000} s; the gateway on one core, callers and
upstream on the other. Goodput: answers in that time, in shares of the capacity that was measured just before.`,
    rows,
  },
  seconds >= 5,
);

async function measure(times: number, capacity: number): Promise<Row[]> {
  const free: Caller[] = [];
  let connections = 0;
  let unsent = 0;
  const seen: Seen[] = [];
  const asking = new Set<Promise<void>>();
  const one = async () => {
    let caller = free.pop();
    while (caller !== undefined && !caller.isUsable()) {
      connections -= 1;
      caller = free.pop();
    }
    if (caller === undefined) {
      if (connections >= connectionsMax) {
        unsent += 1;
        return;
      }
      connections += 1;
      caller = new Caller(culvert.port);
    }
    const answer = await caller.ask(chat);
    seen.push(answer);
    if (caller.isUsable()) free.push(caller);
    else connections -= 1;
  };
  const perSecond = capacity * times;
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  const looks: number[] = [];
  const looker = (async () => {
    while (performance.now() < endMs) {
      const caller = new Caller(culvert.port);
      looks.push((await caller.ask(health)).ms);
      caller.close();
      await after(100);
    }
  })();
  let sent = 0;
  while (performance.now() < endMs) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startMs) / 1_000) * perSecond);
    for (; sent < due; sent += 1) {
      const asked = one().then(() => void asking.delete(asked));
      asking.add(asked);
    }
    await after(2);
  }
  const within = seen.filter(({ status }) => status === 200).length;
  await Promise.all([...asking, looker]);
  for (const caller of free) caller.close();
  const ok = seen.filter(({ status }) => status === 200);
  const refused = seen.filter(({ status }) => status === 503 || status === 429);
  const backMs = await recovery();
  const p = (some: readonly number[], share: number) =>
    percentile(
      [...some].sort((a, b) => a - b),
      share,
    ).toFixed(0);
  const ms = (some: readonly Seen[]) => some.map((each) => each.ms);
  return [
    judged(`${times}×: goodput, in shares of capacity`, [within / seconds / capacity], {
      atLeast: 0.9,
      unit: '',
      digits: 2,
    }),
    told('… answered, p50 / p99', `${ok.length}, ${p(ms(ok), 0.5)} / ${p(ms(ok), 0.99)} ms`),
    told('… refused, p50 / p99', `${refused.length}, ${p(ms(refused), 0.5)} / ${p(ms(refused), 0.99)} ms`),
    told('… given up; beyond the connections of the callers', `${seen.length - ok.length - refused.length}; ${unsent}`),
    told('… /healthz, p50 / p99', `${p(looks, 0.5)} / ${p(looks, 0.99)} ms`),
    judged('… answered in 50 ms again after', [backMs / 1_000], { atMost: 2, unit: ' s', digits: 2 }),
  ];
}

async function recovery(): Promise<number> {
  const startMs = performance.now();
  for (;;) {
    const caller = new Caller(culvert.port);
    const { status, ms } = await caller.ask(chat);
    caller.close();
    if (status === 200 && ms < 50) return performance.now() - startMs - ms;
    if (performance.now() - startMs > 20_000) return 20_000;
  }
}
