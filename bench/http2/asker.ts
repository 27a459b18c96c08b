// Asks the upstream by our transport, over one protocol, and says what that cost: in a process of its own, whose CPU is that
// of the transport alone. node asker.ts HTTP_VERSION PORT; an `Order` comes as a message, a `Cost` goes back.
import { createTransport } from '../../src/upstream/transport/send.ts';
import { cert } from '../../test/loopback-certificate.ts';
import { event, requestBody } from './wire.ts';

export type HttpVersion = 'http/1.1' | 'http/2';

export interface Order {
  path: '/stream' | '/whole';
  /** Asked for at one time, each anew when it has ended. */
  atOnce: number;
  /** Before it is measured. */
  warmUpMs: number;
  measuredMs: number;
}

export interface Cost {
  answers: number;
  events: number;
  failed: number;
  /** Of all threads. */
  cpuUs: number;
  residentMb: number;
  connections: number;
}

/** This many connections opened in one turn of the loop delay each other's handshakes. */
const betweenOpeningsMs = 3;
const timeoutMs = 60_000;

const [httpVersion, port] = process.argv.slice(2) as [HttpVersion, string];
const transport = createTransport();
const route = {
  id: httpVersion,
  proxy: 'off',
  ca: cert,
  cert: undefined,
  key: undefined,
  http2: httpVersion === 'http/2',
} as const;
const done = { answers: 0, bytes: 0, failed: 0 };
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function ask(path: string): Promise<void> {
  return new Promise((resolve) => {
    transport.send(
      {
        origin: `https://127.0.0.1:${port}`,
        route,
        method: 'POST',
        path,
        headers: ['content-type', 'application/json'],
        body: requestBody,
        connectTimeoutMs: timeoutMs,
        headersTimeoutMs: timeoutMs,
        bodyTimeoutMs: timeoutMs,
      },
      {
        headers() {},
        data(bytes) {
          done.bytes += bytes.length;
        },
        ended() {
          done.answers += 1;
          resolve();
        },
        failed() {
          done.failed += 1;
          resolve();
        },
      },
    );
  });
}

async function run({ path, atOnce, warmUpMs, measuredMs }: Order): Promise<Cost> {
  let state: 'asking' | 'ending' = 'asking';
  const failedBefore = done.failed;
  const asking = Array.from({ length: atOnce }, async (_, at) => {
    await rest(at * betweenOpeningsMs);
    while (state === 'asking') await ask(path);
  });
  await rest(atOnce * betweenOpeningsMs + warmUpMs);
  const [before, cpuBefore] = [{ ...done }, process.cpuUsage()];
  await rest(measuredMs);
  const { user, system } = process.cpuUsage(cpuBefore);
  const cost = {
    answers: done.answers - before.answers,
    events: (done.bytes - before.bytes) / event.length,
    cpuUs: user + system,
    residentMb: process.memoryUsage().rss / 2 ** 20,
    connections: transport.counts.connections,
  };
  state = 'ending';
  await Promise.all(asking);
  return { ...cost, failed: done.failed - failedBefore };
}

process.on('message', (order: Order) => void run(order).then((cost) => process.send!(cost)));
process.on('disconnect', () => process.exit());
