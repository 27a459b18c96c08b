import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { noteService, type Usage, withCounts } from '../../../formats/neutral/usage.ts';
import { encodeUpstream } from '../../../formats/providers/encode.ts';
import { FailureError } from '../../../kernel/failure.ts';
import { isObject, parsedJson } from '../../../kernel/json.ts';
import { openBrace } from '../../../kernel/json-marks.ts';
import { offLoopBodyBytes, upstreamErrorBytesMax } from '../../../kernel/limits.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import { readingMsOf, readTokensPerS } from '../../../routing/silence.ts';
import { AttemptTimers, type ExpiredTimer } from '../../../upstream/transport/timers.ts';
import type { TransportError } from '../../../upstream/transport/transport-error.ts';
import type { UpstreamCall, UpstreamHeaders, UpstreamObserver } from '../../../upstream/transport/upstream-call.ts';
import { asCaller, type ConfiguredProvider } from '../../models/connections.ts';
import { answeredElsewhere } from '../answer.ts';
import type { AnswerReader } from '../answer-reader.ts';
import type { AttemptParts, Job, PreparedBody } from '../job.ts';
import type { AttemptSink, AttemptSource, Chunk } from '../sink.ts';
import { expiredFault, faultInAnswer, statusFault, transportFault } from './attempt-faults.ts';
import type { AttemptSeen, Trial } from './trial.ts';

/** Time that an upstream may take to end its body after its end mark, before the connection is given up. */
const lingerMs = 1_000;

/** An attempt's facts of its request. */
export type AttemptJob = Pick<Job, 'deadlineMs' | 'providers' | 'callerHeaders' | 'given' | 'bound' | 'trace'>;

/**
 * One call of one target with one credential: a state machine that the transport, the timers and a stop drive. It
 * yields to its sink and ends exactly once.
 */
export class Attempt implements Trial, UpstreamObserver, AttemptSource {
  status: number | null = null;
  bytes = 0;
  paused = false;
  readonly shows: 'stream' | 'whole';
  readonly #parts: AttemptParts;
  readonly #job: AttemptJob;
  readonly #attempt: RouteAttempt;
  readonly #body: PreparedBody;
  readonly #provider: ConfiguredProvider;
  readonly #sink: AttemptSink;
  #resolve: ((fault: Fault | null | Promise<Fault | null>) => void) | null = null;
  #reject: ((error: unknown) => void) | null = null;
  #call: UpstreamCall | null = null;
  #timers: AttemptTimers | null = null;
  #reader: AnswerReader | null = null;
  #comesAsEvents = false;
  #responseHeaders: UpstreamHeaders | null = null;
  #errorBody: Buffer[] = [];
  #errorBytes = 0;
  #contentSeen = false;
  #firstTokenMs = 0;
  /** The answer is over, the upstream's connection is not. */
  #lingering: NodeJS.Timeout | null = null;

  constructor(parts: AttemptParts, job: AttemptJob, attempt: RouteAttempt, body: PreparedBody, sink: AttemptSink) {
    this.#parts = parts;
    this.#job = job;
    this.#attempt = attempt;
    this.#body = body;
    this.shows = body.streamed ? 'stream' : 'whole';
    this.#sink = sink;
    const provider = job.providers.get(attempt.target.provider);
    if (provider === undefined) throw new Error(`no connection to ${attempt.target.provider}`);
    this.#provider = provider.connection.callers === null ? provider : asCaller(provider, job.callerHeaders);
  }

  get signs(): number {
    return this.status === null ? 0 : this.bytes + 1;
  }

  run(): Promise<Fault | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Fault | null>();
    this.#resolve = resolve;
    this.#reject = reject;
    try {
      this.#start();
    } catch (error) {
      this.#crash(error);
    }
    return promise;
  }

  stop(why: Fault): void {
    this.#end(why);
  }

  resume(): void {
    this.paused = false;
    this.#timers?.resume();
    this.#call?.resume();
  }

  seen(served: boolean, outcome: Fault | null): AttemptSeen {
    const { status, bytes } = this;
    const used = usageOf(this.#body, this.#reader, served, this.#call === null ? null : outcome);
    const { malformedLines = 0, answeredAs = null, finishReason = null } = this.#reader ?? {};
    return { status, bytes, ...used, malformedLines, answeredAs, finishReason };
  }

  #start(): void {
    const { target, credential } = this.#attempt;
    const { timeouts } = target;
    const { deadlineMs } = this.#job;
    this.#sink.start(this);
    this.#firstTokenMs = timeouts.firstTokenMs;
    const { inputTokensEstimate } = this.#body;
    if (inputTokensEstimate >= readTokensPerS && timeouts.firstTokenGrows === true)
      this.#firstTokenMs += readingMsOf(inputTokensEstimate);
    const nowMs = this.#parts.clock.monotonicMs();
    if (deadlineMs <= nowMs) return this.#end(fault('deadline', 'the deadline passed'));
    this.#timers = new AttemptTimers(
      {
        // A whole answer that is forwarded shows nothing until its end: only the total counts.
        firstTokenMs: this.#body.streamed ? this.#firstTokenMs : timeouts.totalMs,
        idleMs: timeouts.idleMs,
        totalDeadlineMs: Math.min(nowMs + timeouts.totalMs, deadlineMs),
      },
      (kind) => this.#end(this.#expired(kind)),
    );
    const { upload, bytes } = this.#body;
    const address = encodeUpstream(this.#provider.connection, {
      credential: credential.id,
      model: target.model,
      answer: this.shows,
      dialect: this.#body.upstreamDialect.id,
      endpoint: this.#body.endpoint,
      path: this.#body.path,
      contentType: upload?.contentType,
      header: this.#body.header,
      callerHeaders: this.#job.callerHeaders,
      traceHeaders: this.#provider.connection.traced ? this.#job.trace?.passOn(this.#attempt) : undefined,
    });
    this.#call = this.#parts.transport.send(
      {
        origin: address.origin,
        route: address.route,
        path: address.path,
        method: 'POST',
        headers: address.headers,
        authorize: address.authorize,
        body: upload ?? bytes,
        connectTimeoutMs: timeouts.connectMs,
        headersTimeoutMs: timeouts.totalMs,
        bodyTimeoutMs: timeouts.totalMs,
      },
      this,
    );
    // The transport may have failed before it returned.
    if (this.#resolve === null) this.#call.abort();
  }

  headers(status: number, headers: UpstreamHeaders, type = (headers.get('content-type') ?? '').toLowerCase()): void {
    if (this.#resolve === null) return;
    this.status = status;
    this.#responseHeaders = headers;
    const limits = this.#provider.connection.limitsForCaller?.(headers);
    if (limits !== undefined) this.#attempt.callersLimits = limits;
    if (status < 200 || status >= 300) return;
    this.#comesAsEvents = type.startsWith('text/event-stream');
    const { given } = this.#job;
    try {
      this.#reader = this.#body.reader(type, given === null ? undefined : (ids) => given(this.#attempt, ids));
    } catch (error) {
      this.#crash(error);
    }
  }

  data(chunk: Buffer): void {
    if (this.#resolve === null) return;
    try {
      const head = this.#responseHeaders;
      if (this.bytes === 0 && head !== null && this.#reader !== null && (this.#body.streamed || this.#comesAsEvents)) {
        // Some servers send streams under their framework's type, and whole answers and errors under that of a stream.
        const seen = (chunk[0] === openBrace) === this.#comesAsEvents ? typeSeen(chunk) : null;
        if (seen !== null) this.headers(this.status ?? 200, head, seen);
      }
      this.bytes += chunk.length;
      const reader = this.#reader;
      if (reader === null) {
        if (this.#errorBytes < upstreamErrorBytesMax) this.#errorBody.push(chunk);
        this.#errorBytes += chunk.length;
        // The message is at the beginning; an endless error page is not read to its end.
        if (this.#errorBytes >= upstreamErrorBytesMax) this.#end(this.#refused());
        return;
      }
      const before = reader.contentEvents;
      const out = reader.push(chunk);
      if (reader.contentEvents > before) this.#timers?.content();
      if (out !== null && !this.#yield(out)) return;
      if (reader.fault !== null) this.#end(this.#answerFault(reader.fault));
      else if (reader.done) {
        // The client has it all; an upstream that keeps its connection open must not hold the answer's end back.
        this.#lingering = setTimeout(() => this.#call?.abort(), lingerMs);
        this.#finish();
      }
    } catch (error) {
      this.#crash(error);
    }
  }

  ended(): void {
    if (this.#lingering !== null) clearTimeout(this.#lingering);
    if (this.#resolve === null) return;
    try {
      this.#finish();
    } catch (error) {
      this.#crash(error);
    }
  }

  failed(error: TransportError): void {
    if (this.#lingering !== null) clearTimeout(this.#lingering);
    if (this.#resolve === null) return;
    if (error.kind === 'no-descriptor') return this.#crash(noDescriptor());
    // A refusal that was cut: its head says enough.
    if (this.status !== null && this.#reader === null) return this.#end(this.#refused());
    // After the first byte of an answer a broken connection is a cut answer, not an upstream that cannot be reached.
    this.#end(transportFault(error, { begun: this.#reader !== null, status: this.status }));
  }

  #finish(): void {
    const reader = this.#reader;
    if (reader === null) return this.#end(this.#refused());
    const out = reader.finish();
    if (out !== null && !this.#yield(out)) return;
    this.#end(reader.fault === null ? null : this.#answerFault(reader.fault));
  }

  /** False: the attempt is over. */
  #yield(out: Chunk): boolean {
    if (!this.#contentSeen && this.#reader!.contentEvents > 0) {
      this.#contentSeen = true;
      if (!this.#sink.content()) {
        this.#end(answeredElsewhere());
        return false;
      }
    }
    if (this.#sink.chunk(out) === 'behind') {
      this.paused = true;
      this.#call?.pause();
      this.#timers?.pause();
    }
    return this.#resolve !== null;
  }

  #expired(kind: ExpiredTimer): Fault {
    const { deadlineMs } = this.#job;
    const limits = { ...this.#attempt.target.timeouts, deadlineMs, silence: 'sent no content', status: this.status };
    return expiredFault(kind, { ...limits, firstTokenMs: this.#firstTokenMs }, this.#parts.clock.monotonicMs());
  }

  /** A non-2xx answer, by its status and whatever its body says. */
  #refused(): Fault {
    const refusal = { status: this.status ?? 0, headers: this.#responseHeaders, body: Buffer.concat(this.#errorBody) };
    const found = statusFault(
      refusal,
      this.#body.upstreamDialect,
      this.#provider.connection,
      this.#parts.clock.wallMs(),
    );
    const { callersLimits } = this.#attempt;
    if (callersLimits !== undefined) found.callersLimits = callersLimits;
    // What the request names may have been removed there: that says nothing of the model or the credential.
    const isRemoved = this.#job.bound !== null && (found.status === 404 || found.status === 403);
    return isRemoved && found.code !== 'model_not_found' ? { ...found, class: 'caller_fault' } : found;
  }

  /** A fault found inside a 200: its words come from the upstream too. */
  #answerFault(found: Fault): Fault {
    return faultInAnswer(found, this.#provider.connection, this.#parts.clock.wallMs());
  }

  /** An error in this process must end this request, not the transport or timer that called it, nor the process. */
  #crash(error: unknown): void {
    if (this.#resolve === null) return;
    this.#resolve = null;
    this.#timers?.stop();
    this.#call?.abort();
    this.#reject?.(error);
  }

  #end(outcome: Fault | null): void {
    const resolve = this.#resolve;
    if (resolve === null) return;
    this.#resolve = null;
    try {
      this.#timers?.stop();
      if (outcome !== null) this.#call?.abort();
      resolve(this.#sink.end(outcome, outcome === null ? undefined : this.#reader?.mark));
    } catch (error) {
      this.#reject?.(error);
    }
  }
}

function typeSeen(first: Buffer): string | null {
  const start = first.toString('latin1', 0, 64).trimStart();
  if (start.startsWith('{')) return 'application/json';
  return /^(?:data|event|id|retry)?:/.test(start) ? 'text/event-stream' : null;
}

/** Fault of this process, not of a target: no provider is blamed, and no other is asked. */
export function noDescriptor(): FailureError {
  const message =
    'This server has no open files left for a call to a provider (ulimit -n). Nothing is charged; retry shortly.';
  return new FailureError({ kind: 'overloaded', message });
}

/** The upstream's usage; else, for an answer that ran, our count of what passed over the estimated input. */
export function usageOf(
  prepared: Pick<PreparedBody, 'inputTokensEstimate' | 'bytes'> & Partial<Pick<PreparedBody, 'upstreamDialect'>>,
  reader: AnswerReader | null,
  served: boolean,
  outcome: Fault | null,
): Pick<AttemptSeen, 'usage' | 'usageSource' | 'reported'> {
  const { inputTokensEstimate, bytes, upstreamDialect } = prepared;
  if (reader?.usage != null) {
    const { finishReason = null, outputTokensSeen = 0 } = reader;
    let { usage } = reader;
    const isCut = upstreamDialect?.usageFirst === true && outcome !== null && finishReason === null;
    const isMore = isCut && outputTokensSeen > usage.outputTokens;
    if (isMore || usage.inputTokens === 0 || usage.outputTokens === 0) {
      const counted = isMore ? { ...usage, outputTokens: outputTokensSeen } : usage;
      const filled = withCounts(counted, inputTokensEstimate, outputTokensSeen);
      const { inputTokens, outputTokens } = usage;
      if (filled.inputTokens !== inputTokens || filled.outputTokens !== outputTokens)
        return { usage: filled, usageSource: served ? 'counted' : 'abandoned' };
      usage = filled;
    }
    return served ? { usage, usageSource: 'upstream' } : { usage, usageSource: 'abandoned', reported: true };
  }
  // It answered 200 or was left while it ran: the provider may well charge its input, so the books say so.
  const ran = served || reader !== null || (outcome !== null && leftRunning.test(outcome.class));
  if (!ran) return { usage: null, usageSource: 'none' };
  const usage: Usage = { inputTokens: inputTokensEstimate, outputTokens: reader?.outputTokensSeen ?? 0 };
  // Longer ones are parsed off the loop, and nobody waits for this.
  if (bytes.length <= offLoopBodyBytes && serviceNames.some((name) => bytes.includes(name)))
    noteRequestedService(usage, bytes);
  return { usage, usageSource: served ? 'counted' : 'abandoned' };
}

const leftRunning = /^(?:cancelled|deadline|stall_.*)$/;
const serviceNames = ['"service_tier"', '"speed"', '"inference_geo"'];

/** Notes the service that was asked for, where the provider has not said how it served the request. */
function noteRequestedService(usage: Usage, bytes: Buffer | string): void {
  const request = parsedJson(String(bytes));
  if (isObject(request)) noteService(usage, [request.service_tier, request.speed, request.inference_geo]);
}
