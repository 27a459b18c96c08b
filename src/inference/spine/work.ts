import { type Failure, isFailure, statusOf } from '../../kernel/failure.ts';
import type { AgentCallRecord, McpCallRecord } from '../../routing/route.ts';
import type { AliasCache } from '../models/alias.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { costHeaders } from './answer.ts';
import { endUserOf } from './end-user.ts';
import { type Charge, type HeldCall, holdCall, newProgress } from './held-call.ts';
import type { EndedJob, JobProgress } from './job.ts';
import type { ModelCall } from './model-call.ts';
import type { Reading } from './reading.ts';
import type { SpineServices } from './services.ts';
import { type Bytes, type Client, type HeaderList, refuse, type Sink, sendWhole } from './sink.ts';

/** A checked request; `release` ends it, whether or not it was done. */
export interface ReadRequest {
  release(): void | Promise<void>;
}

/** A family whose requests no model answers alone: searches, pages, calls of MCP servers and of the vector store. */
export interface WorkEndpoint<I, R extends ReadRequest = ReadRequest, P extends WorkPlan = WorkPlan>
  extends Omit<Reading<ModelCall, I, R>, 'addable'> {
  /** Name for steps. */
  readonly id: string;
  /** Maximum cost; the failure comes before anything is held. */
  plan(snapshot: Snapshot, call: ModelCall, request: R): P | Failure | Promise<P | Failure>;
  /** Does it, once its cost is held. Rejects only for a fault of ours. */
  work(work: RunningWork<R, P>): Promise<Done>;
}

export interface WorkPlan {
  charge: Charge;
  /** For the row, unless the work says more. */
  mcp?: McpCallRecord;
  /** It only reads what is stored, so it also runs while a full disk takes no reservation. */
  unbooked?: boolean;
  /** Equal requests may get its answer; absent: it is done each time. */
  shared?: SharedWork;
  /** Headers of its answer, in addition to those of its cost. */
  headers?: HeaderList;
}

/** Facts for the cache, of work whose answer equal requests may get. */
export interface SharedWork {
  /** Absent: nothing is kept. */
  rule: Pick<AliasCache, 'ttlMs' | 'scope'> | undefined;
  /** The parts of the configuration that change its answer. */
  configuration: unknown;
  /** Until when (monotonic ms) it may wait for an equal request. */
  untilMs: number;
  /** Milli-units of a kept answer. */
  cachedMilli: number;
  /** The answer, of what `Done.kept` was. */
  write(cached: string): Bytes;
}

export interface RunningWork<R, P> {
  call: ModelCall;
  request: R;
  plan: P;
  /** Null: a full disk takes no reservation, and the call is free. */
  held: HeldCall | null;
}

/** The end of work: its answer, or the failure, or neither where its caller left. */
export interface Done {
  body: Bytes | null;
  failure: Failure | null;
  /** HTTP status; absent: 200, that of the failure, or 499. */
  status?: number;
  /** It kept a thread or the browser busy until it failed or was left, so it is paid. */
  worked?: boolean;
  /** It was only to be known whether it may begin: its reservation ends without a row. */
  checked?: true;
  /** Its result stays, so it is paid even if its caller left meanwhile. */
  lasting?: boolean;
  /** Milli-units of the part that was done; absent: all. */
  doneMilli?: number | undefined;
  /** Attempts and usage of the models that it asked; absent: none. */
  progress?: JobProgress | undefined;
  mcp?: McpCallRecord;
  agent?: AgentCallRecord;
  /** Headers of its answer, in addition to those of its plan. */
  headers?: HeaderList;
  /** Answer for equal requests, if its plan is shared; absent: they get none. */
  cacheable?: string;
  /** Settled so, and answered already; absent: as the others say. */
  settled?: EndedJob;
}

/** Work that may be answered with what is kept. */
export interface PlannedWork<R, P> extends Omit<RunningWork<R, P>, 'held'> {
  shared: SharedWork;
}

/** Answers of equal work. Only work whose plan is shared enters it. */
export interface WorkCache {
  /** Answers it from what is kept, or does it. The failure; null: it was not refused. */
  share<I, R extends ReadRequest, P extends WorkPlan>(
    services: SpineServices,
    endpoint: WorkEndpoint<I, R, P>,
    planned: PlannedWork<R, P>,
    input: I,
  ): Promise<Failure | null>;
}

type CachedServices = SpineServices & { cache: WorkCache };

export const left: Done = { body: null, failure: null };
const unexpected: Done = { body: null, failure: { kind: 'internal' } };

/** The path of such a request once it is read: plan → reserve → work → settle. `serve` comes here. */
export async function doWork<I, R extends ReadRequest, P extends WorkPlan>(
  services: CachedServices,
  endpoint: WorkEndpoint<I, R, P>,
  call: ModelCall,
  request: R,
  input: I,
): Promise<void> {
  const planning = endpoint.plan(services.snapshots.current, call, request);
  const plan = planning instanceof Promise ? await planning : planning;
  let refused: Failure | null;
  if (isFailure(plan)) refused = plan;
  else if (plan.shared === undefined) refused = await runWork(services, endpoint, call, request, plan);
  else refused = await services.cache.share(services, endpoint, { call, request, plan, shared: plan.shared }, input);
  if (refused !== null) refuse(call.sink, refused, call.admitted.headers);
}

/** Reserves, works, answers and settles. The failure of the reservation; null: it was not refused. */
export async function runWork<I, R extends ReadRequest, P extends WorkPlan>(
  services: SpineServices,
  endpoint: Pick<WorkEndpoint<I, R, P>, 'work'>,
  call: ModelCall,
  request: R,
  plan: P,
): Promise<Failure | null> {
  const reserved = await holdCall(services, call, { ...plan.charge, user: endUserOf(call, null) });
  if (reserved.kind !== 'held') {
    const unbooked = plan.unbooked === true && reserved.kind === 'quota-unavailable' && reserved.cause === 'disk-full';
    if (!unbooked) return reserved;
  }
  const held = reserved.kind === 'held' ? reserved : null;
  const { client } = call;
  let done = unexpected;
  let hasLeft = false;
  try {
    done = client.disconnected ? left : await endpoint.work({ call, request, plan, held });
    hasLeft = client.disconnected;
    if (!hasLeft) {
      answer(call, held, done, plan.headers);
      if (call.answerTexts !== undefined || call.gate !== undefined) done = await passedWork(call.sink, done);
    }
  } finally {
    if (done.checked === true) held?.release();
    else if (held !== null) settle(held, done, hasLeft, plan.mcp);
  }
  return null;
}

function answer(
  { sink }: ModelCall,
  held: HeldCall | null,
  { body, failure, status = 200, worked, doneMilli, headers: further = [] }: Done,
  more: HeaderList = [],
) {
  if (body === null && failure === null) return;
  const paid = failure === null || worked === true;
  const headers =
    held === null
      ? []
      : costHeaders({ headers: held.reserved.headers, costMilli: paid ? (doneMilli ?? held.reserved.costMilli) : 0 });
  const all = [...headers, ...more, ...further];
  if (failure !== null) refuse(sink, failure, all);
  else sendWhole(sink, all, body!, status);
}

/** Notes a refusal of the texts of an answer in its end. A result that stays is paid all the same. */
async function passedWork(sink: Sink, done: Done): Promise<Done> {
  await sink.finished;
  const { refusal = null } = sink;
  return refusal === null || done.lasting === true ? done : { ...done, body: null, failure: refusal.failure };
}

function settle(held: HeldCall, done: Done, left: boolean, requestedMcp?: McpCallRecord): void {
  if (done.settled !== undefined) return held.settle(done.settled);
  const { body, failure, worked = false, lasting = false, doneMilli } = done;
  const { progress = newProgress(), mcp = requestedMcp, agent } = done;
  const status = done.status ?? (failure !== null ? statusOf(failure) : body === null ? 499 : 200);
  const whole = body !== null && status < 400 && (lasting || !left);
  progress.delivered = whole ? 'whole' : worked ? 'partial' : 'nothing';
  progress.status = status;
  progress.class = failure?.kind ?? (mcp?.outcome === 'tool-error' ? 'tool-error' : 'ok');
  if (whole || worked) progress.usage ??= { inputTokens: 0, outputTokens: 0 };
  held.settle({ stream: false, progress, client: { disconnected: left, committed: whole }, mcp, agent }, doneMilli);
}

/** Aborts when the caller leaves. Replaces an earlier listener. */
export function leavingOf(client: Client): AbortSignal {
  const leaving = new AbortController();
  client.onDisconnect(() => leaving.abort());
  return leaving.signal;
}

/** Failure of a call that was left before its end. */
export const abandoned: Failure = { kind: 'request-timeout', message: 'The caller no longer waits for it.' };

/** Milli-units that an answer cost, by its headers. */
export function costMilliIn(headers: readonly string[]): number {
  const at = headers.indexOf('x-culvert-cost');
  return at === -1 ? 0 : Math.round(Number(headers[at + 1]) * 1_000);
}
