import { FailureError } from '../../kernel/failure.ts';
import { upstreamErrorBytesMax } from '../../kernel/limits.ts';
import type { GivenId } from '../dialects/named-objects.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import { encodeUpstream } from '../providers/encode.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import { type AttemptTimers, createAttemptTimers, type ExpiredTimer } from '../transport/timers.ts';
import type { TransportError, UpstreamCall, UpstreamHeaders, UpstreamObserver } from '../transport/upstream-call.ts';
import { answerHeaders } from './answer-headers.ts';
import type { AnswerReader, Bytes } from './answer-reader.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { Contest } from './contest.ts';
import { expiredFault } from './expired-fault.ts';
import type { AttemptParts, Job, PreparedBody } from './job.ts';
import { readerFor } from './reader-for.ts';
import { recordAttempt } from './record-attempt.ts';
import { faultInAnswer, statusFault } from './status-fault.ts';

/** What may gather before the first content event: role chunks, message_start. */
const heldBytesMax = 1024 * 1024;
/** How long an upstream may take to end its body after its end mark, before the connection is given up. */
const lingerMs = 1_000;

/**
 * One try at one target with one credential: a state machine fed by the transport, the timers and the caller, which
 * ends exactly once, whatever comes first.
 */
export class Attempt implements UpstreamObserver {
  status: number | null = null;
  bytes = 0;
  firstTokenMs: number | null = null;
  readonly #parts: AttemptParts;
  readonly #job: Job;
  readonly #route: Pick<Route, 'firstToken'>;
  readonly #attempt: RouteAttempt;
  readonly #body: PreparedBody;
  readonly #provider: ConfiguredProvider;
  readonly #contest: Contest | null;
  #resolve: ((fault: Fault | null) => void) | null = null;
  #reject: ((error: unknown) => void) | null = null;
  #call: UpstreamCall | null = null;
  #timers: AttemptTimers | null = null;
  #reader: AnswerReader | null = null;
  #responseHeaders: UpstreamHeaders | null = null;
  #errorBody: Buffer[] = [];
  #errorBytes = 0;
  /** A stream's frames before its first content: dropped when the attempt fails, since another one follows. */
  #held: Bytes[] = [];
  #heldBytes = 0;
  /** The answer is over, the upstream's connection is not. */
  #lingering: NodeJS.Timeout | null = null;

  constructor(
    parts: AttemptParts,
    job: Job,
    route: Pick<Route, 'firstToken'>,
    attempt: RouteAttempt,
    body: PreparedBody,
    contest: Contest | null = null,
  ) {
    this.#contest = contest;
    this.#route = route;
    this.#parts = parts;
    this.#job = job;
    this.#attempt = attempt;
    this.#body = body;
    const provider = job.providers.get(attempt.target.provider);
    if (provider === undefined) throw new Error(`no connection to ${attempt.target.provider}`);
    this.#provider = provider;
  }

  get reader(): AnswerReader | null {
    return this.#reader;
  }

  /** Signs of life so far. */
  get signs(): number {
    return this.status === null ? 0 : this.bytes + 1;
  }

  /** No content has come yet. */
  get awaiting(): boolean {
    return this.firstTokenMs === null;
  }

  /** Null when the caller has the whole answer; otherwise why not. Rejects for a fault of ours alone. */
  run(): Promise<Fault | null> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#guarded(() => this.#start());
    });
  }

  /** The caller went. */
  leave(): void {
    this.#guarded(() => this.#end(fault('cancelled', 'the caller closed the connection')));
  }

  /** Another attempt of the same request has content. */
  lose(): void {
    this.#guarded(() => this.#end(fault('cancelled', 'another target answered first')));
  }

  #start(): void {
    const { target, credential } = this.#attempt;
    const { timeouts } = target;
    const { caller, deadlineMs } = this.#job;
    caller.onGone(() => this.leave());
    const nowMs = this.#parts.clock.monotonicMs();
    if (deadlineMs <= nowMs) return this.#end(fault('deadline', 'the deadline passed'));
    this.#timers = createAttemptTimers(
      {
        // A whole answer that is forwarded shows nothing until its end: only the total counts.
        firstTokenMs: this.#body.streamed ? timeouts.firstTokenMs : timeouts.totalMs,
        idleMs: timeouts.idleMs,
        totalDeadlineMs: Math.min(nowMs + timeouts.totalMs, deadlineMs),
      },
      (kind) => this.#guarded(() => this.#end(this.#expired(kind))),
    );
    const address = encodeUpstream(this.#provider.connection, {
      credential: credential.id,
      model: target.model,
      answer: this.#body.streamed ? 'stream' : 'whole',
      dialect: this.#body.upstreamDialect.id,
      endpoint: this.#body.endpoint ?? this.#body.forwarded?.id,
      path: this.#body.path,
      contentType: this.#body.upload?.contentType,
      callerHeaders: this.#job.callerHeaders,
    });
    this.#call = this.#parts.transport.send(
      {
        origin: address.origin,
        path: address.path,
        method: 'POST',
        headers: address.headers,
        body: this.#body.upload ?? this.#body.bytes,
        connectTimeoutMs: timeouts.connectMs,
        headersTimeoutMs: timeouts.totalMs,
        bodyTimeoutMs: timeouts.totalMs,
      },
      this,
    );
    // The transport may have failed before it returned.
    if (this.#resolve === null) this.#call.abort();
  }

  headers(status: number, headers: UpstreamHeaders): void {
    if (this.#resolve === null) return;
    this.status = status;
    this.#responseHeaders = headers;
    if (status < 200 || status >= 300) return;
    this.#guarded(() => {
      const { given } = this.#job;
      const onGiven = given === undefined ? undefined : (ids: readonly GivenId[]) => given(this.#attempt, ids);
      this.#reader = readerFor(this.#job, this.#body, headers.get('content-type') ?? '', onGiven);
    });
  }

  data(chunk: Buffer): void {
    if (this.#resolve === null) return;
    try {
      this.#take(chunk);
    } catch (error) {
      this.#crash(error);
    }
  }

  ended(): void {
    if (this.#lingering !== null) clearTimeout(this.#lingering);
    if (this.#resolve === null) return;
    this.#guarded(() => this.#finish());
  }

  #take(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#reader === null) {
      if (this.#errorBytes < upstreamErrorBytesMax) this.#errorBody.push(chunk);
      this.#errorBytes += chunk.length;
      // The message stands at the beginning; an endless error page is not read to its end.
      if (this.#errorBytes >= upstreamErrorBytesMax) this.#end(this.#refused());
      return;
    }
    const before = this.#reader.contentEvents;
    const out = this.#reader.push(chunk);
    if (this.#reader.contentEvents > before) this.#timers?.content();
    if (out !== null) this.#forward(out);
    if (this.#reader.fault !== null) this.#end(this.#answerFault(this.#reader.fault));
    else if (this.#reader.done) {
      // The caller has it all; an upstream that keeps its connection open must not hold the answer's end back.
      this.#lingering = setTimeout(() => this.#call?.abort(), lingerMs);
      this.#finish();
    }
  }

  #finish(): void {
    if (this.#reader === null) return this.#end(this.#refused());
    const out = this.#reader.finish();
    if (this.#reader.fault !== null) {
      if (out !== null && this.#job.stream) this.#forward(out);
      return this.#end(this.#answerFault(this.#reader.fault));
    }
    if (this.#job.stream) {
      if (out !== null) this.#forward(out);
      if (this.#job.progress.delivered === 'nothing' && !this.#commit()) return;
      this.#job.progress.delivered = 'whole';
      this.#job.progress.status = 200;
      this.#job.caller.endStream();
    } else {
      if (!this.#claims()) return;
      this.#markFirstToken();
      this.#served();
      this.#job.progress.delivered = 'whole';
      this.#job.progress.status = 200;
      this.#job.caller.answer(200, answerHeaders(this.#job, this.#attempt, this.#body), out ?? '');
    }
    this.#end(null);
  }

  failed(error: TransportError): void {
    if (this.#lingering !== null) clearTimeout(this.#lingering);
    if (this.#resolve === null) return;
    if (error.kind === 'no-descriptor') return this.#crash(noDescriptor());
    // After the first byte of an answer a broken connection is a cut answer, not an upstream that cannot be reached.
    const cut = this.#reader !== null;
    const faultClass =
      error.kind === 'decode' || error.kind === 'protocol'
        ? 'malformed'
        : cut
          ? 'truncated'
          : isConnectionFault(error)
            ? 'unreachable'
            : 'transient';
    this.#end(
      fault(
        error.kind.endsWith('-timeout') && error.kind !== 'connect-timeout' ? 'stall_idle' : faultClass,
        error.message,
        this.status,
      ),
    );
  }

  #forward(out: Bytes): void {
    if (!this.#job.stream) return;
    if (this.#job.progress.delivered !== 'nothing') {
      this.#write(out);
    } else if (this.#reader!.contentEvents > 0) {
      if (this.#commit()) this.#write(out);
    } else {
      this.#held.push(out);
      this.#heldBytes += out.length;
      if (this.#heldBytes > heldBytesMax) this.#end(fault('malformed', 'sent over 1 MB before any content'));
    }
  }

  /** False, and this attempt is over, when another was first. */
  #commit(): boolean {
    if (!this.#claims()) return false;
    this.#markFirstToken();
    this.#served();
    this.#job.progress.delivered = 'partial';
    this.#job.caller.onDrain(() => this.#resume());
    this.#job.caller.startStream(answerHeaders(this.#job, this.#attempt, this.#body));
    for (const held of this.#held) this.#write(held);
    this.#held = [];
    return true;
  }

  #claims(): boolean {
    if (this.#contest === null || this.#contest.claim(this)) return true;
    this.lose();
    return false;
  }

  #served(): void {
    const { progress } = this.#job;
    progress.answeredBy = this.#attempt;
    progress.losses = this.#body.losses;
    progress.passThrough = this.#body.answer === 'pass-through';
  }

  #markFirstToken(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    this.firstTokenMs = nowMs - this.#attempt.startedMs;
    this.#route.firstToken(this.#attempt, nowMs);
  }

  #expired(kind: ExpiredTimer): Fault {
    const { deadlineMs } = this.#job;
    const told = { ...this.#attempt.target.timeouts, deadlineMs, silence: 'sent no content', status: this.status };
    return expiredFault(kind, told, this.#parts.clock.monotonicMs());
  }

  #write(out: Bytes): void {
    if (this.#job.caller.write(out)) return;
    this.#call?.pause();
    this.#timers?.pause();
  }

  #resume(): void {
    this.#timers?.resume();
    this.#call?.resume();
  }

  /** A non-2xx answer, by its status and whatever its body says. */
  #refused(): Fault {
    const said = { status: this.status ?? 0, headers: this.#responseHeaders, body: Buffer.concat(this.#errorBody) };
    const found = statusFault(said, this.#body.upstreamDialect, this.#provider.connection, this.#parts.clock.wallMs());
    // What the request names may have been removed there: that says nothing of the model or the credential.
    const isGone = this.#job.bound !== null && (found.status === 404 || found.status === 403);
    return isGone && found.code !== 'model_not_found' ? { ...found, class: 'caller_fault' } : found;
  }

  /** A fault found inside a 200: its words come from the upstream too. */
  #answerFault(found: Fault): Fault {
    return faultInAnswer(found, this.#provider.connection);
  }

  /** For what runs once an attempt; `data` has the same written out, since it runs for every chunk. */
  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#crash(error);
    }
  }

  /** An error of our own must end this request, not the transport or timer that called us, nor the process. */
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
    this.#timers?.stop();
    if (outcome !== null) this.#call?.abort();
    try {
      recordAttempt(this.#job, this.#attempt, this, outcome, this.#parts.clock.monotonicMs());
    } catch (error) {
      this.#reject?.(error);
      return;
    }
    resolve(outcome);
  }
}

/** Ours, whoever would have been asked: no provider is blamed, and no other is asked. */
function noDescriptor(): FailureError {
  const message =
    'This server has no open files left to ask a provider with (ulimit -n). Nothing is charged; retry shortly.';
  return new FailureError({ kind: 'overloaded', message });
}

function isConnectionFault({ kind }: TransportError): boolean {
  return kind === 'connect' || kind === 'connect-timeout' || kind === 'dns' || kind === 'tls';
}
