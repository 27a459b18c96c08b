import type { Caller } from '../../inference/pipeline/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, statusOf } from '../../kernel/failure.ts';
import type { CallMemory } from '../../vectors/calls-in-flight.ts';
import type { Prepared, VectorAnswer, VectorEngine } from '../../vectors/engine.ts';
import type { VectorHold, VectorMeter } from '../../vectors/meter.ts';
import { type VectorVerb, vectorVerbs } from '../../vectors/verbs.ts';
import type { Exchange } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { ResponseCaller } from '../write-stream.ts';
import { left, type MeteredCall, meteredCallOf, unexpected, withCost } from './metered-call.ts';

export interface VectorParts {
  engine: VectorEngine;
  meter: VectorMeter<MeteredCall>;
  clock: Clock;
}

type End = Parameters<VectorHold['settle']>[0];

/** Most bytes of one call: 10,000 points are sent in several. */
export const vectorBodyBytesMax = 32 * 1024 * 1024;

/** The way of a vector call: body → checked → held → texts embedded → done → answered → settled. */
export async function answerVectorCall(parts: VectorParts, verb: VectorVerb, exchange: Exchange): Promise<void> {
  const { response } = exchange;
  const memory = parts.engine.begin(exchange.principal!.tenant);
  try {
    await runCall(parts, verb, exchange, memory);
  } finally {
    // Until then the answer stands in the socket's buffer.
    if (response.closed) memory.end();
    else response.once('close', memory.end);
  }
}

async function runCall(parts: VectorParts, verb: VectorVerb, exchange: Exchange, memory: CallMemory): Promise<void> {
  const caller = new ResponseCaller(exchange, parts.clock);
  const call = meteredCallOf(exchange, caller);
  const { principal, admitted } = call;
  const body = takesBody(verb) ? await readJsonBody(exchange, vectorBodyBytesMax, memory) : Buffer.alloc(0);
  if (body === null) return;
  if (!Buffer.isBuffer(body)) return caller.refuse(body, admitted.headers);
  const prepared = await parts.engine.prepare({
    owner: { tenant: principal.tenant, account: principal.account },
    verb,
    params: exchange.params,
    search: exchange.search,
    body,
  });
  memory.bodyRead();
  if (prepared.kind !== 'prepared') return caller.refuse(prepared, admitted.headers);
  await runPrepared(parts, call, prepared, memory);
}

/** From the checked body on: `prepared` is run or dropped, and what is held is settled, whatever happens. */
async function runPrepared(
  { meter }: VectorParts,
  call: MeteredCall,
  prepared: Prepared,
  memory: CallMemory,
): Promise<void> {
  const { caller, admitted } = call;
  let waiting: Prepared | null = prepared;
  let held: VectorHold | null = null;
  let end: End = unexpected;
  try {
    if (caller.gone) return;
    const hold = await meter.hold(call, prepared.texts);
    if (hold.kind !== 'held') return caller.refuse(hold, admitted.headers);
    held = hold;
    const embedded = prepared.texts === null ? null : await hold.embed();
    if (caller.gone) {
      end = left;
      return;
    }
    let answer: VectorAnswer | Failure;
    if (embedded !== null && 'kind' in embedded) answer = embedded;
    else {
      waiting = null;
      answer = await prepared.run(embedded);
    }
    if (answer.kind === 'answer') memory.answered(answer.body.byteLength);
    end = answerWith(caller, answer, hold);
  } finally {
    waiting?.drop();
    held?.settle(end);
  }
}

/** What was done is done: a caller who left meanwhile pays for it. */
function answerWith(caller: Caller, answer: VectorAnswer | Failure, { headers }: VectorHold): End {
  const aborted = caller.gone;
  if (answer.kind !== 'answer') {
    caller.refuse(answer, withCost(headers, 0));
    return { status: aborted ? 499 : statusOf(answer), failure: answer, aborted };
  }
  const { buffer, byteOffset, byteLength } = answer.body;
  caller.answer(answer.status, headers, Buffer.from(buffer, byteOffset, byteLength));
  return { status: answer.status, failure: null, aborted };
}

function takesBody(verb: VectorVerb): boolean {
  const { method } = vectorVerbs[verb];
  return method !== 'GET' && method !== 'DELETE';
}
