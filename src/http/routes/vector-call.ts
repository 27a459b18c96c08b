import { withCost } from '../../inference/spine/answer.ts';
import { type Delivery, refuse, sendWhole } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, statusOf } from '../../kernel/failure.ts';
import type { Room, RoomHold } from '../../kernel/sharing/room.ts';
import type { Prepared, VectorAnswer, VectorEngine } from '../../vectors/engine.ts';
import type { VectorHold, VectorMeter } from '../../vectors/meter.ts';
import { type VectorVerb, vectorVerbs } from '../../vectors/verbs.ts';
import type { Exchange } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { left, type MeteredCall, meteredCallOf, unexpected } from './metered-call.ts';

export interface VectorParts {
  engine: VectorEngine;
  meter: VectorMeter<MeteredCall>;
  clock: Clock;
  /** For bodies, and for answers until they are sent. */
  bodies: Room;
}

type End = Parameters<VectorHold['settle']>[0];

/** Most bytes of one call: 10,000 points are sent in several. */
export const vectorBodyBytesMax = 32 * 1024 * 1024;

/** The way of a vector call: body → checked → held → texts embedded → done (→ ranked by a model) → answered → settled. */
export async function answerVectorCall(parts: VectorParts, verb: VectorVerb, exchange: Exchange): Promise<void> {
  const { response } = exchange;
  const bytes = parts.bodies.hold(exchange.principal!.account);
  try {
    await runCall(parts, verb, exchange, bytes);
  } finally {
    // Until then the answer is in the socket's buffer.
    if (response.closed) bytes.giveBack();
    else response.once('close', () => bytes.giveBack());
  }
}

async function runCall(parts: VectorParts, verb: VectorVerb, exchange: Exchange, bytes: RoomHold): Promise<void> {
  const { client } = exchange;
  const call = meteredCallOf(exchange);
  const read = await readCall(parts.engine, verb, exchange, bytes);
  if (read === null) return;
  const { prepared, bodyBytes } = read;
  if (prepared.kind !== 'prepared') return refuse(client, prepared, call.admitted.headers);
  await runPrepared(parts, call, prepared, { bytes, bodyBytes });
}

/** The body, checked by the engine; null when the caller left while sending it. */
async function readCall(
  { bodyMemory, prepare }: VectorEngine,
  verb: VectorVerb,
  exchange: Exchange,
  held: RoomHold,
): Promise<{ prepared: Prepared | Failure; bodyBytes: number } | null> {
  const taken: SharedArrayBuffer[] = [];
  const memory = (bytes: number) => {
    const large = bodyMemory.take(bytes);
    taken.push(large);
    return Buffer.from(large, 0, bytes);
  };
  try {
    const body = takesBody(verb) ? await readJsonBody(exchange, vectorBodyBytesMax, { held, memory }) : Buffer.alloc(0);
    if (body === null) return null;
    if (!Buffer.isBuffer(body)) return { prepared: body, bodyBytes: 0 };
    const { tenant, account } = exchange.principal!;
    // Its memory may go to the thread.
    const bodyBytes = body.length;
    const call = { owner: { tenant, account }, verb, params: exchange.params, search: exchange.search, body };
    return { prepared: await prepare(call), bodyBytes };
  } finally {
    for (const large of taken) bodyMemory.give(large);
  }
}

/** From the checked body on, `prepared` is run or dropped, and the reservation is settled, whatever happens. */
async function runPrepared(
  { meter }: VectorParts,
  call: MeteredCall,
  prepared: Prepared,
  { bytes, bodyBytes }: { bytes: RoomHold; bodyBytes: number },
): Promise<void> {
  const { client, admitted } = call;
  let waiting: Prepared | null = prepared;
  let held: VectorHold | null = null;
  let end: End = unexpected;
  try {
    if (client.gone) return;
    const { texts, rerank, effect } = prepared;
    const hold = await meter.hold(call, { texts, rerank, effect, bodyBytes });
    if (hold.kind !== 'held') return refuse(client, hold, admitted.headers);
    held = hold;
    const embedded = prepared.texts === null ? null : await hold.embed();
    if (client.gone) {
      end = left;
      return;
    }
    let answer: VectorAnswer | Failure;
    if (embedded !== null && 'kind' in embedded) answer = embedded;
    else {
      waiting = null;
      answer = await prepared.run(embedded, ({ texts, bytes: found }) => {
        bytes.add(found);
        return hold.rank(texts);
      });
    }
    if (answer.kind === 'answer') bytes.add(answer.body.byteLength);
    end = answerWith(client, answer, hold);
  } finally {
    waiting?.drop();
    held?.settle(end);
  }
}

/** The work is done: a caller that left meanwhile pays for it. */
function answerWith(client: Delivery, answer: VectorAnswer | Failure, { headers }: VectorHold): End {
  const aborted = client.gone;
  if (answer.kind !== 'answer') {
    refuse(client, answer, withCost(headers, 0));
    return { status: aborted ? 499 : statusOf(answer), failure: answer, aborted };
  }
  const { buffer, byteOffset, byteLength } = answer.body;
  sendWhole(client, headers, Buffer.from(buffer, byteOffset, byteLength), answer.status);
  return { status: answer.status, failure: null, aborted };
}

function takesBody(verb: VectorVerb): boolean {
  const { method } = vectorVerbs[verb];
  return method !== 'GET' && method !== 'DELETE';
}
