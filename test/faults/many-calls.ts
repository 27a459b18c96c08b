import { setTimeout as pause } from 'node:timers/promises';

/** Chats, or requests for embeddings, that are sent to a gateway one after another, whatever becomes of them. */
export interface Calls {
  /** Of the gateway. */
  url: string;
  model: string;
  /** Used in turns. */
  keys: readonly string[];
  /** `both`: whole and streamed chats in turns. */
  form: 'whole' | 'stream' | 'both' | 'embedding';
  count: number;
  content?: string;
  /** A caller hangs up after so long. */
  patienceMs: number;
  /** Calls under way above which the next one of an open loop waits, so that a busy machine is not flooded. Default: none. */
  runningMax?: number;
}

/** One call as its caller saw it. */
export interface CallSeen {
  /** When it began, from the start of the load. */
  sinceMs: number;
  ms: number;
  /** 0: no answer at all. */
  status: number;
  /** `answered`: a whole answer with text or a vector in it, or a stream with a clean end. */
  outcome: 'answered' | 'failed';
  /** Why there is no whole answer, in Node's words. */
  why?: string;
  requestId: string | null;
}

/** This many a second, whether earlier ones have been answered or not. */
export function openLoop(calls: Calls, perSecond: number): Promise<CallSeen[]> {
  const startMs = performance.now();
  const { runningMax = Number.POSITIVE_INFINITY } = calls;
  let running = 0;
  return Promise.all(
    Array.from({ length: calls.count }, async (_, index) => {
      // From the start, so that a late timer delays one call and not all the following ones.
      await pause(Math.max(0, (index * 1_000) / perSecond - (performance.now() - startMs)));
      while (running >= runningMax) await pause(50);
      running += 1;
      const seen = await callOnce(calls, index, startMs);
      running -= 1;
      return seen;
    }),
  );
}

/** This many callers, each of which sends its next call when it has its answer. */
export async function closedLoop(calls: Calls, callers: number): Promise<CallSeen[]> {
  const startMs = performance.now();
  const seen: CallSeen[] = [];
  let next = 0;
  async function caller(): Promise<void> {
    while (next < calls.count) seen.push(await callOnce(calls, next++, startMs));
  }
  await Promise.all(Array.from({ length: callers }, caller));
  return seen;
}

async function callOnce(calls: Calls, index: number, startMs: number): Promise<CallSeen> {
  const { url, model, keys, form, content = 'Hello', patienceMs } = calls;
  const stream = form === 'stream' || (form === 'both' && index % 2 === 1);
  const key = keys[Math.floor(form === 'both' ? index / 2 : index) % keys.length];
  const begunMs = performance.now();
  const seen: CallSeen = { sinceMs: begunMs - startMs, ms: 0, status: 0, outcome: 'failed', requestId: null };
  try {
    const response = await fetch(`${url}/v1/${form === 'embedding' ? 'embeddings' : 'chat/completions'}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(
        form === 'embedding' ? { model, input: content } : { model, stream, messages: [{ role: 'user', content }] },
      ),
      signal: AbortSignal.timeout(patienceMs),
    });
    seen.status = response.status;
    seen.requestId = response.headers.get('x-culvert-request-id');
    const body = await response.text();
    if (response.status === 200 && (stream ? endsCleanly(body) : saysSomething(body))) seen.outcome = 'answered';
  } catch (error) {
    // No answer, or one that broke off: it counts as failed.
    const { name, cause } = error as Error;
    seen.why = cause instanceof Error ? `${name}: ${cause.message}` : name;
  }
  seen.ms = performance.now() - begunMs;
  return seen;
}

function endsCleanly(body: string): boolean {
  return body.includes('data: [DONE]') && body.includes('"content":"') && !body.includes('"error":');
}

function saysSomething(body: string): boolean {
  const answer = JSON.parse(body) as {
    choices?: { message?: { content?: string } }[];
    data?: { embedding: number[] }[];
  };
  return (answer.choices?.[0]?.message?.content ?? '') !== '' || (answer.data?.[0]?.embedding.length ?? 0) > 0;
}

/** Of all of them, or of those that `among` picks; 1: every one. */
export function answeredShare(
  seen: readonly CallSeen[],
  among: (call: CallSeen, index: number) => boolean = () => true,
): number {
  const counted = seen.filter(among);
  return counted.filter(({ outcome }) => outcome === 'answered').length / counted.length;
}

/** Statuses, or words of Node, of those that failed, with how many there are of each. */
export function statusesOf(seen: readonly CallSeen[]): string {
  const reasons = seen.filter(({ outcome }) => outcome === 'failed').map(({ status, why }) => why ?? `${status}`);
  return [...new Set(reasons)]
    .map((reason) => `${reason} × ${reasons.filter((one) => one === reason).length}`)
    .join(', ');
}
