import type { NeutralEvent } from '../../formats/neutral/event.ts';
import { type Loss, lossHeaderName } from '../../formats/neutral/loss.ts';
import type { Fault } from '../../formats/neutral/outcome.ts';
import { type Failure, statusOf } from '../../kernel/failure.ts';
import { costHeaders, headerSafe } from '../spine/answer.ts';
import type { Endpoint, Plan, PlannedRequest, Trials } from '../spine/endpoint.ts';
import type { Job } from '../spine/job.ts';
import type { RequestBody } from '../spine/request-body.ts';
import { runPlan } from '../spine/serve.ts';
import type { SpineServices } from '../spine/services.ts';
import { type AttemptSink, type Bytes, type Chunk, type Pace, refuse } from '../spine/sink.ts';
import { withLosses } from '../spine/steps/changed-headers.ts';
import { FilteredEvents } from '../spine/steps/filtered-events.ts';
import { GatedEvents } from '../spine/steps/gated-events.ts';
import { noteRefusal } from '../spine/steps/refused-answer.ts';
import type { Landed } from './flight.ts';
import { type CachedAnswer, type CachedBytes, type CachedPassed, withoutId } from './packed-entry.ts';
import { isJson, renewed } from './renewed-ids.ts';
import { renewedPassed } from './renewed-passed.ts';

/** Answers a request with what is kept. Ends the client's answer in every case. */
export function replay<I, R extends RequestBody, P extends Plan>(
  services: SpineServices,
  endpoint: Endpoint<I, R, P>,
  planned: PlannedRequest<R, P>,
  landed: Landed,
  given: Given,
): Promise<void> {
  const use = landed.similarity === undefined ? 'hit' : 'semantic';
  return answerHeld(services, endpoint, planned, use, (trials, job) =>
    give(services, trials, planned, job, landed, given),
  );
}

/** A kept answer for one caller: in its own format, or as events that are written for it. */
export type Given = { text: string } | { events: readonly NeutralEvent[] } | CachedBytes;

/** The events of bytes that are in memory, so that they are read once. */
const read = new WeakMap<CachedPassed, readonly NeutralEvent[]>();

/** Null: it cannot be read any more. */
export function givenTo<I, R extends RequestBody, P extends Plan>(
  { passed }: Endpoint<I, R, P>,
  planned: PlannedRequest<R, P>,
  { answer, provider }: CachedAnswer,
  nowMs: number,
): Given | null {
  if ('base64' in answer) return answer;
  if (!('form' in answer)) return { events: answer };
  const { answerTexts, gate } = planned.call;
  const isAsItIs = (answerTexts ?? gate) === undefined;
  const again = isAsItIs ? (passed?.again(planned, provider, answer.form, answer.bytes) ?? null) : null;
  const text = again === null ? null : renewedPassed(answer, again, nowMs);
  if (text !== null) return { text };
  const known = read.get(answer);
  if (known !== undefined) return { events: known };
  const events = passed?.events(planned, provider, answer.form, answer.bytes)?.map(withoutId) ?? null;
  if (events === null) return null;
  read.set(answer, events);
  return { events };
}

/** Answers a request by `give`, reserved and settled as any other. */
export async function answerHeld<I, R extends RequestBody, P extends Plan>(
  services: SpineServices,
  endpoint: Endpoint<I, R, P>,
  planned: PlannedRequest<R, P>,
  cacheUse: 'hit' | 'semantic',
  give: (trials: Trials, job: Job) => Promise<void>,
): Promise<void> {
  const { snapshot, request } = planned;
  const call = { ...planned.call, cacheUse };
  const { query } = planned.plan;
  // No model reads it.
  const needs = { ...query.needs, inputTokensEstimate: 0 };
  const plan = { ...planned.plan, calls: 1, query: { ...query, needs } };
  const charged = { id: endpoint.id, cost: 'cached' } as const;
  const refused = await runPlan(services, charged, { snapshot, call, plan, facts: request.facts }, (job) =>
    give(endpoint.trials(planned, job), job),
  );
  if (refused !== null) refuse(call.sink, refused, call.admitted.headers);
}

async function give<R extends RequestBody, P extends Plan>(
  { clock }: Pick<SpineServices, 'clock'>,
  { write }: Trials,
  { call, plan }: PlannedRequest<R, P>,
  job: Job,
  { entry, atMs, similarity }: Landed,
  given: Given,
): Promise<void> {
  const { progress } = job;
  progress.cacheAgeMs = Math.max(0, clock.wallMs() - atMs);
  progress.savedUsd = entry.usd ?? 0;
  if (similarity !== undefined) progress.cacheSimilarity = similarity;
  const near = similarity === undefined ? '' : `semantic; similarity=${similarity.toFixed(3)}; `;
  const headers = [
    'x-culvert-provider',
    headerSafe(entry.provider),
    'x-culvert-model',
    headerSafe(entry.model),
    'x-culvert-attempts',
    '0',
    ...costHeaders(job),
    'x-culvert-cache',
    `hit; ${near}age=${Math.floor(progress.cacheAgeMs / 1_000)}`,
  ];
  progress.firstTokenMs = clock.monotonicMs() - job.startedMs;
  const losses = entry.endpoint === job.endpoint ? entry.losses : [];
  if ('text' in given) {
    job.sink.start(plan.form, withLosses(headers, losses));
    job.sink.chunk(given.text);
    job.sink.end(null);
  } else if ('base64' in given) {
    const { contentType, losses, base64 } = given;
    if (contentType !== null) headers.push('content-type', contentType);
    if (losses !== null) headers.push(lossHeaderName, losses);
    const body = Buffer.from(base64, 'base64');
    const nowS = Math.floor(clock.wallMs() / 1_000);
    job.sink.start(plan.form, headers);
    job.sink.chunk(isJson(contentType) ? renewed(body.toString('utf8'), job.requestId, nowS) : body);
    job.sink.end(null);
  } else {
    if (write === undefined) throw new Error(`nothing writes the kept events of ${job.endpoint}`);
    const last = new ReplaySink(job, withLosses(headers, losses));
    const written = write(last);
    const { answerTexts, gate } = call;
    const untimed = { noteFirst() {}, trial: null };
    const filtered = answerTexts === undefined ? written : new FilteredEvents(written, untimed, answerTexts);
    const sink = gate === undefined ? filtered : new GatedEvents(filtered, untimed, gate, 'whole');
    sink.start({ resume() {}, stop: (fault) => last.stop(fault) });
    sink.content();
    sink.chunk(given.events);
    await sink.end(null);
    if (last.refused !== null) return refuseAs(job, last.refused);
  }
  if (job.sink.finished !== undefined) await job.sink.finished;
  progress.status = 200;
  if (job.client.disconnected) progress.class = 'aborted';
  else progress.delivered = 'whole';
  noteRefusal(job, job.sink);
}

/** A guard let the answer through that was kept, and ends it for this caller. */
function refuseAs({ progress, sink }: Job, { message, status, failure: reported }: Fault): void {
  const failure: Failure = reported ?? {
    kind: 'upstream-refused',
    status: status ?? 400,
    message,
    provider: 'cache',
    param: null,
  };
  progress.class = failure.kind;
  progress.status = statusOf(failure);
  sink.end({ failure, headers: [] });
}

/** Takes a kept answer as it is written for its caller, all of it at once. */
class ReplaySink implements AttemptSink {
  readonly #job: Job;
  #headers: readonly string[];
  readonly #written: Bytes[] = [];
  refused: Fault | null = null;

  constructor(job: Job, headers: readonly string[]) {
    this.#job = job;
    this.#headers = headers;
  }

  start(): void {}

  content(): boolean {
    return true;
  }

  chunk(chunk: Chunk): Pace {
    if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) this.#written.push(chunk);
    return 'ready';
  }

  /** The headers have not left, also where a stream is written: they name those that were found when the answer was kept. */
  lose(losses: readonly Loss[]): void {
    this.#headers = withLosses(this.#headers, losses);
  }

  stop(fault: Fault): void {
    this.refused ??= fault;
  }

  end(found: Fault | null): Fault | null {
    if (found !== null || this.refused !== null) return found;
    const { sink, stream } = this.#job;
    sink.start(stream ? 'events' : 'whole', this.#headers);
    for (const piece of this.#written) sink.chunk(piece);
    sink.end(null);
    return null;
  }
}
