import { randomFillSync } from 'node:crypto';
import type {
  Trace,
  TracedAttempt,
  TracedContent,
  TracedRecord,
  TracedStep,
  TraceEnd,
  TraceStart,
  Traces,
} from '../../kernel/trace.ts';
import type { GenAiMetrics } from './genai-metrics.ts';
import { names } from './semantic-conventions.ts';
import {
  attemptFacts,
  attemptPart,
  type RequestFacts,
  requestFacts,
  requestPart,
  SharedParts,
  stepFacts,
  stepPart,
} from './span-parts.ts';
import type { SpanSender } from './span-sender.ts';
import { attribute, Key, type SharedPart, type SpanPlace, type SpanWriter } from './span-writer.ts';

export interface TracesParts {
  /** Null: spans are not sent. */
  sender: SpanSender | null;
  /** Null: metrics are not. */
  metrics: GenAiMetrics | null;
  /** Share of the traces that are recorded, 0 to 1, where the caller's does not say. */
  sample: number;
  /** `db.system.name` of where requests are booked. */
  database: string;
  /** The SDK's reader of `traceparent`; null for an invalid one. */
  parse(traceParent: string): { traceId: string; spanId: string; traceFlags: number } | null;
}

/** Bytes of one request's ids: of its trace, of its span, of its parent, of the part that is being written. */
const idsBytes = 40;
const spanIdAt = 16;
const parentIdAt = 24;
const partIdAt = 32;
/** Requests whose ids are made at once. Few, since one that goes on keeps those of all. */
const idsAtOnce = 64;
/** The bound of the W3C; longer ones may be dropped. */
const traceStateCharsMax = 512;
/** Room for the attributes that an attempt or a request has for itself alone. */
const spanBytes = 512;

export function createTraces(parts: TracesParts): Traces {
  const tracer = new Tracer(parts);
  return { begin: (start) => new RequestTrace(tracer, start) };
}

class Tracer {
  readonly sender: SpanSender | null;
  readonly metrics: GenAiMetrics | null;
  readonly parse: TracesParts['parse'];
  readonly #sample: number;
  readonly #database: string;
  readonly #steps = new SharedParts<TracedStep>(stepFacts, (step) => stepPart(step, this.#database));
  readonly #attempts = new SharedParts<TracedAttempt>(attemptFacts, attemptPart);
  readonly #requests = new SharedParts<RequestFacts>(requestFacts, requestPart);
  #ids = Buffer.alloc(0);
  #idsAt = 0;

  constructor({ sender, metrics, sample, database, parse }: TracesParts) {
    this.sender = sender;
    this.metrics = metrics;
    this.parse = parse;
    this.#sample = sample;
    this.#database = database;
  }

  /** The next request's place in `ids`, which are random. */
  takeIds(): { ids: Buffer; at: number } {
    if (this.#idsAt === this.#ids.length) {
      this.#ids = Buffer.allocUnsafeSlow(idsBytes * idsAtOnce);
      randomFillSync(this.#ids);
      this.#idsAt = 0;
    }
    const at = this.#idsAt;
    this.#idsAt += idsBytes;
    return { ids: this.#ids, at };
  }

  /** By the trace's id, so that all who sample by it choose the same ones. */
  isSampled(ids: Buffer, at: number): boolean {
    return this.#sample >= 1 || ids.readUInt32BE(at + 12) < this.#sample * 0x1_0000_0000;
  }

  ofStep(step: TracedStep): SharedPart {
    return this.#steps.of(step);
  }

  ofAttempt(attempt: TracedAttempt): SharedPart {
    return this.#attempts.of(attempt);
  }

  ofRequest(request: RequestFacts): SharedPart {
    return this.#requests.of(request);
  }
}

class RequestTrace implements Trace {
  session: string | null = null;
  prompt: string | null = null;
  refused: string | null = null;
  content: TracedContent | null = null;
  readonly #tracer: Tracer;
  readonly #place: SpanPlace;
  readonly #sampled: boolean;
  /** Offset from monotonic ms to those since the epoch. */
  readonly #epochMs: number;
  readonly #startedMs: number;
  readonly #at: number;
  readonly #hasParent: boolean;
  #parts = 0;
  /** Parts whose ids others know already; null: none. */
  #known: { part: object; number: number }[] | null = null;
  #record: TracedRecord | null = null;

  constructor(tracer: Tracer, { atMs, startedMs, headers }: TraceStart) {
    const { ids, at } = tracer.takeIds();
    this.#tracer = tracer;
    this.#at = at;
    this.#startedMs = startedMs;
    this.#epochMs = atMs - startedMs;
    const sent = headers?.traceparent;
    const parent = typeof sent === 'string' ? tracer.parse(sent) : null;
    this.#hasParent = parent !== null;
    let traceState = '';
    if (parent !== null) {
      ids.write(parent.traceId, at, 'hex');
      ids.write(parent.spanId, at + parentIdAt, 'hex');
      traceState = stateOf(headers?.tracestate);
    }
    const isSampled = parent === null ? tracer.isSampled(ids, at) : (parent.traceFlags & 1) === 1;
    this.#sampled = isSampled && tracer.sender !== null;
    this.#place = {
      ids,
      traceIdAt: at,
      spanIdAt: at + spanIdAt,
      parentIdAt: parent === null ? -1 : at + parentIdAt,
      remoteParent: false,
      traceState,
      startMs: atMs,
      endMs: atMs,
    };
  }

  get id(): string {
    return this.#place.ids.toString('hex', this.#at, this.#at + 16);
  }

  passOn(part: object): readonly string[] {
    this.#known ??= [];
    let known = this.#known.find((one) => one.part === part);
    if (known === undefined) {
      known = { part, number: this.#nextPart() };
      this.#known.push(known);
    }
    const { ids, traceState } = this.#place;
    this.#partId(known.number);
    const spanId = ids.toString('hex', this.#at + partIdAt, this.#at + idsBytes);
    const parent = `00-${this.id}-${spanId}-0${this.#sampled ? 1 : 0}`;
    return traceState === '' ? ['traceparent', parent] : ['traceparent', parent, 'tracestate', traceState];
  }

  attempt(attempt: TracedAttempt): void {
    const { metrics } = this.#tracer;
    if (metrics !== null) metrics.attempt(attempt);
    if (!this.#sampled) return;
    const number = this.#known?.find(({ part }) => part === attempt.part)?.number ?? this.#nextPart();
    const { startedMs, ms, firstTokenMs, usage, costUsd } = attempt;
    const rare = this.#rareOf(attempt);
    const writer = this.#beginPart(number, this.#tracer.ofAttempt(attempt), startedMs, startedMs + ms, rare);
    if (writer === null) return;
    if (usage !== null) {
      writer.int(keys.inputTokens, usage.inputTokens);
      writer.int(keys.outputTokens, usage.outputTokens);
      const { cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
      if (cachedInputTokens > 0) writer.int(keys.cachedInputTokens, cachedInputTokens);
      if (cacheWriteTokens > 0) writer.int(keys.cacheWriteTokens, cacheWriteTokens);
      if (reasoningTokens > 0) writer.int(keys.reasoningTokens, reasoningTokens);
    }
    if (attempt.streamed && firstTokenMs !== null) writer.double(keys.timeToFirstChunk, firstTokenMs / 1_000);
    if (costUsd !== null) writer.double(keys.usageCost, costUsd);
    if (rare !== null) writer.copy(rare);
    writer.end();
  }

  step(step: TracedStep): void {
    if (!this.#sampled) return;
    const part = this.#tracer.ofStep(step);
    this.#beginPart(this.#nextPart(), part, step.startedMs, step.endedMs, null)?.end();
  }

  settled(record: TracedRecord): void {
    this.#record = record;
  }

  end(end: TraceEnd, endedMs: number): void {
    if (!this.#sampled) return;
    const record = this.#record;
    const { session, refused } = this;
    const part = this.#tracer.ofRequest({ end, record, refused });
    const rare: Buffer[] = [];
    if (record?.user != null) rare.push(attribute(names.userId, record.user));
    if (record?.tag != null) rare.push(attribute(names.tag, record.tag));
    if (record?.variant != null) rare.push(attribute(names.variant, record.variant));
    if (this.prompt !== null) rare.push(attribute(names.prompt, this.prompt));
    if (session !== null) rare.push(attribute(names.sessionId, session));
    if (end.about !== null) rare.push(attribute(names.url, end.about));
    if (end.clientRequestId !== null) rare.push(attribute(names.clientRequestId, end.clientRequestId));
    const beside = rare.length === 0 ? null : Buffer.concat(rare);
    const place = this.#place;
    place.spanIdAt = this.#at + spanIdAt;
    place.parentIdAt = this.#hasParent ? this.#at + parentIdAt : -1;
    place.remoteParent = this.#hasParent;
    place.startMs = this.#epochMs + this.#startedMs;
    place.endMs = this.#epochMs + endedMs;
    const writer = this.#tracer.sender!.take(part, spanBytes + (beside?.length ?? 0));
    if (writer === null) return;
    writer.begin(place, part);
    writer.ascii(keys.requestId, end.requestId);
    if (record?.costUsd != null) writer.double(keys.costUsd, record.costUsd);
    if (beside !== null) writer.copy(beside);
    writer.end();
  }

  #rareOf({ class: end }: TracedAttempt): Buffer | null {
    const { session, content } = this;
    if (session === null && content === null) return null;
    const rare: Buffer[] = [];
    if (session !== null) rare.push(attribute(names.conversationId, session));
    if (content !== null && end === 'ok') {
      rare.push(attribute(names.inputMessages, content.input), attribute(names.outputMessages, content.output));
      this.content = null;
    }
    return Buffer.concat(rare);
  }

  #nextPart(): number {
    this.#parts += 1;
    return this.#parts;
  }

  /** Ids of parts follow from the request's own: they are as random, and none is made again. */
  #partId(number: number): void {
    const { ids } = this.#place;
    const at = this.#at;
    for (let i = 0; i < 6; i += 1) ids[at + partIdAt + i] = ids[at + spanIdAt + i]!;
    ids[at + partIdAt + 6] = ids[at + spanIdAt + 6]! ^ (number >> 8);
    ids[at + partIdAt + 7] = ids[at + spanIdAt + 7]! ^ number;
  }

  /** Null: there is no room. */
  #beginPart(
    number: number,
    part: SharedPart,
    startedMs: number,
    endedMs: number,
    rare: Buffer | null,
  ): SpanWriter | null {
    const writer = this.#tracer.sender!.take(part, spanBytes + (rare?.length ?? 0));
    if (writer === null) return null;
    this.#partId(number);
    const place = this.#place;
    place.spanIdAt = this.#at + partIdAt;
    place.parentIdAt = this.#at + spanIdAt;
    place.remoteParent = false;
    place.startMs = this.#epochMs + startedMs;
    place.endMs = this.#epochMs + endedMs;
    writer.begin(place, part);
    return writer;
  }
}

const keys = {
  requestId: new Key(names.requestId),
  costUsd: new Key(names.costUsd),
  inputTokens: new Key(names.inputTokens),
  outputTokens: new Key(names.outputTokens),
  cachedInputTokens: new Key(names.cachedInputTokens),
  cacheWriteTokens: new Key(names.cacheWriteTokens),
  reasoningTokens: new Key(names.reasoningTokens),
  timeToFirstChunk: new Key(names.timeToFirstChunk),
  usageCost: new Key(names.usageCost),
} as const;

function stateOf(header: string | string[] | undefined): string {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  return text.length <= traceStateCharsMax && /^[\x20-\x7e]*$/.test(text) ? text : '';
}
