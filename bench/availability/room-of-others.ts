import { chatOnce } from '../../test/faults/gateway-process.ts';
import { longestBesideBursts } from '../../test/faults/pipelined-burst.ts';
import { stallBody } from '../../test/faults/stalled-body.ts';
import { residentMb } from '../gateway/processes.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { startOpenLoop } from './chat-thread.ts';
import { ask, besideKey, type Ground } from './ground.ts';
import { answeredRow } from './scenario.ts';

const mb = 1024 * 1024;
const stalledBodies = 40;
const idleSockets = 18;
const perSecond = 50;
/** Half of `server.body_memory`, and the buffers through which as much goes. */
const heldMaxMb = 400;
const otherWaitMs = 100;

/** S27: 31 of 32 MB of each body come, and no more. */
export async function stalled(ground: Ground): Promise<Row[]> {
  const gateway = await ground.start(ground.chatOver('ok'));
  const chats = (count: number) =>
    startOpenLoop(
      { url: gateway.url, model: 'chat', keys: [besideKey], form: 'whole', count, patienceMs: 60_000 },
      perSecond,
    );
  const pid = gateway.process.pid!;
  const alone = (await (await chats(400)).seen).slice(100);
  const beforeMb = residentMb(pid);
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(pid) - beforeMb);
  }, 20);
  const beside = await chats(500);
  const bytes = Buffer.alloc(31 * mb, ' ');
  const order = { declaredBytes: 32 * mb, bytes };
  const bodies = await Promise.all(Array.from({ length: stalledBodies }, () => stallBody(ground, gateway, order)));
  const seen = await beside.seen;
  clearInterval(watch);
  const refused = bodies.filter(({ received }) => received().startsWith('HTTP/1.1 503')).length;
  return [
    judged(`${stalledBodies} stalled bodies of one key: memory more than before, at its peak`, [peakMb], {
      atMost: heldMaxMb,
      unit: ' MB',
      digits: 0,
    }),
    told('… held 10 s later', `${(residentMb(pid) - beforeMb).toFixed(0)} MB`),
    told('… refused with 503', String(refused)),
    judged("… p99 of others' chats", [p99(seen)], { atMost: otherWaitMs, unit: ' ms', digits: 0 }),
    told('… without these bodies', `${p99(alone).toFixed(0)} ms`),
    answeredRow('… others', seen, 100),
  ];
}

/** S27: a declared length and one byte each. */
export async function idle(ground: Ground): Promise<Row[]> {
  const gateway = await ground.start(ground.chatOver('ok'));
  const path = '/v1/vectors/collections';
  const order = { path: `${path}/c/points`, declaredBytes: 32 * mb, bytes: 1 };
  for (let i = 0; i < idleSockets; i += 1) await stallBody(ground, gateway, order);
  const asked = async (method: string, to: string, body: object) =>
    (await ask(gateway.url, besideKey, method, path + to, body)).status;
  const statuses = [await asked('PUT', '/docs', { vectors: { size: 4, distance: 'Cosine' } })];
  for (let i = 1; i <= 20; i += 1) {
    const vector = [i, 1, 1, 1];
    statuses.push(await asked('PUT', '/docs/points', { points: [{ id: i, vector }] }));
    statuses.push(await asked('POST', '/docs/points/query', { query: vector, limit: 3 }));
  }
  const served = statuses.filter((status) => status === 200).length;
  return [
    judged(
      `${idleSockets} idle sockets of one key at the vector store: others served of ${statuses.length}`,
      [(served / statuses.length) * 100],
      { atLeast: 100, unit: ' %', digits: 1 },
    ),
  ];
}

/** S28 */
export async function pipelined(ground: Ground): Promise<Row[]> {
  const { url } = await ground.start(ground.chatOver('ok'));
  for (let i = 0; i < 20; i += 1) await chatOnce(url);
  const limit = { atMost: otherWaitMs, unit: ' ms', digits: 0 };
  return [
    judged('60 KB of pipelined requests on 1 connection: others wait', await longestBesideBursts(url, 1), limit),
    judged('… on each of 50 connections', await longestBesideBursts(url, 50), limit),
  ];
}

function p99(seen: readonly { ms: number }[]): number {
  return percentile(
    seen.map(({ ms }) => ms),
    0.99,
  );
}
