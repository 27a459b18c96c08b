import type { StreamMark } from '../../formats/dialects/dialect.ts';
import type { NeutralEvent } from '../../formats/neutral/event.ts';
import { type Loss, lossComment } from '../../formats/neutral/loss.ts';
import { fault } from '../../formats/neutral/outcome.ts';
import type { NeutralMessage } from '../../formats/neutral/request.ts';
import type { RequestedServerTools } from '../../formats/neutral/server-tool.ts';
import type { ServerTurn } from '../../formats/neutral/server-turn.ts';
import { estimatedTokensOf } from '../../formats/neutral/turn-media.ts';
import { sumOf, type Usage } from '../../formats/neutral/usage.ts';
import { type Failure, isFailure, statusOf } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import { EncodedAnswer, type WrittenFor, withCostOfAll } from '../spine/answer.ts';
import type { MakeTrial } from '../spine/attempts/contest.ts';
import { type AttemptSteps, runAttempts } from '../spine/attempts/run-attempts.ts';
import { ChildClient } from '../spine/child-client.ts';
import { forUser } from '../spine/end-user.ts';
import type { Endpoint } from '../spine/endpoint.ts';
import type { Job } from '../spine/job.ts';
import { admittedBefore } from '../spine/model-call.ts';
import type { RequestBody } from '../spine/request-body.ts';
import { type PlannedCall, runPlan } from '../spine/serve.ts';
import type { SpineServices } from '../spine/services.ts';
import type { Bytes, Chunk, Failed, HeaderList, Pace, Sink } from '../spine/sink.ts';
import { refusalHeaders, withCost, withLosses } from '../spine/steps/changed-headers.ts';
import { OpenTurns } from './open-turns.ts';
import { readArguments, readList, readResult, readTools, readTurns } from './read-turns.ts';
import { ToolRunner } from './run-tools.ts';
import { SourceMarks } from './source-marks.ts';
import type { ServerToolPorts } from './tool-ports.ts';
import { TurnReader } from './turn-reader.ts';

/** Turns of the model for one answer; in the last one it may call nothing any more. */
const turnsMax = 16;

/** An answer for which this gateway runs tools. */
export interface ToolLoop {
  services: SpineServices;
  ports: ServerToolPorts;
  endpoint: Pick<Endpoint<never, RequestBody>, 'id' | 'cost'>;
  requested: RequestedServerTools;
  planned: PlannedCall;
  /** The first turn's job, whose cost is held. */
  job: Job;
  writtenFor: WrittenFor;
  /** The same steps as without tools; `trialOf` replaces the trial. */
  steps: Pick<AttemptSteps<Chunk>, 'remedy'>;
  /** One attempt at a turn, whose events go to the job's sink; bytes where the target runs the tools itself. */
  trialOf(job: Job<Chunk>, turn: ServerTurn): MakeTrial<Chunk>;
}

const callersFaults: ReadonlySet<Failure['kind']> = new Set(['upstream-refused', 'invalid-request', 'guard-blocked']);

/** How a turn ended: read, forwarded as bytes or left alone by the caller, or failed. */
type TurnEnd = { kind: 'read' } | { kind: 'over' } | { kind: 'failed'; failed: Failed };

/**
 * Model → tools → model, until an answer needs no tool of this gateway, calls one of the caller's own, or reaches a
 * bound. Each turn is routed, retried, reserved and settled as a separate request; the first has the request's id. Ends
 * the client's answer in every case, once.
 */
export async function runToolLoop(loop: ToolLoop): Promise<void> {
  const { services, ports, requested, planned, job } = loop;
  const answer = new LoopAnswer(job, loop.writtenFor);
  const open = new OpenTurns(services.clock.monotonicMs, () => answer.isShown);
  const leaving = new AbortController();
  let client: ChildClient | null = null;
  let attempts = 0;
  job.client.onDisconnect(() => {
    leaving.abort();
    client?.leave();
  });
  job.client.onDrain(() => client?.drained());
  const { principal, requestId, tag } = planned.call;
  const runner = new ToolRunner({
    ports,
    requested,
    owner: { principal: forUser(principal, job.user), requestId, tag: tag ?? job.tag ?? null },
    marks: answer.marks,
    leftMs: () => job.deadlineMs - services.clock.monotonicMs(),
    signal: leaving.signal,
    read: {
      turns: (added) => readTurns(planned.call, added),
      tools: (added) => readTools(planned.call, added),
      arguments: (argumentsJson) => readArguments(planned.call, argumentsJson),
      result: (result) => readResult(planned.call, result),
      list: (step) => readList(planned.call, step),
    },
    show: (events) => void answer.show(events),
  });
  const messages: NeutralMessage[] = [];
  try {
    const closed = await runner.open();
    if (leaving.signal.aborted) return await answer.left();
    if (closed !== null) return await answer.fail({ failure: closed, headers: refusalHeaders(job) });
    answer.first(runner.listed);
    const approved = await runner.approved();
    messages.push(...approved.messages);
    answer.toolsMilli += approved.costMilli;
    if (approved.wrong !== null) return await answer.fail({ failure: approved.wrong, headers: refusalHeaders(job) });
    if (leaving.signal.aborted) return await answer.left();
    return await turns().catch((error: unknown) => answer.broke(error));
  } finally {
    await open.settle(howPaid(job, answer.turned, services.clock.monotonicMs()));
    // Nobody waits for servers to take their leave, least of all the settlement.
    runner.close().catch(() => undefined);
  }

  async function turn(n: number, reader: TurnReader): Promise<TurnEnd> {
    const isLast = n === turnsMax - 1 || runner.isSpent;
    const choice = n === 0 ? runner.choice : isLast ? 'none' : 'free';
    const order: ServerTurn = {
      offered: runner.offeredAt(choice),
      fields: ['max_tool_calls', ...requested.tools.map(({ field }) => field)],
      messages,
      choice,
      lost: runner.lost,
    };
    let end: TurnEnd = { kind: 'over' };
    const sink: Sink<Chunk> = {
      start: (_, headers) => answer.began(headers),
      chunk(chunk) {
        if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) return answer.bytes(chunk as Bytes);
        end = { kind: 'read' };
        return answer.read(reader, chunk);
      },
      end(failed) {
        if (failed !== null) end = { kind: 'failed', failed };
        else if (end.kind === 'over') job.sink.end(null);
      },
    };
    client = new ChildClient(job.client);
    const run = async (laterJob: Job): Promise<void> => {
      const { progress } = laterJob;
      const turnJob: Job<Chunk> = {
        ...laterJob,
        client: client!,
        sink,
        deadlineMs: job.deadlineMs,
        attemptsMade: () => attempts + progress.attempts.length,
      };
      answer.costMilli += laterJob.costMilli;
      await runAttempts(services, turnJob, { ...loop.steps, trial: loop.trialOf(turnJob, order) });
      attempts += progress.attempts.length;
      if (progress.delivered === 'nothing') answer.costMilli -= laterJob.costMilli;
    };
    if (n === 0) {
      await run(job);
      open.count(job);
    } else {
      const refused = await open.run((ended) => {
        const later = laterTurn(loop, messages);
        return runPlan(services, loop.endpoint, later, (laterJob) => run(laterJob).then(() => ended(laterJob)));
      });
      if (refused !== null) return { kind: 'failed', failed: { failure: refused, headers: refusalHeaders(job) } };
    }
    return client.disconnected ? { kind: 'over' } : end;
  }

  async function turns(): Promise<void> {
    for (let n = 0; ; n++) {
      const reader = new TurnReader((name) => runner.has(name), answer.callersCalls);
      const end = await turn(n, reader);
      if (end.kind === 'failed') return answer.fail(end.failed);
      answer.ended(reader);
      if (end.kind === 'over') return n === 0 && job.client.cutFor === null ? undefined : answer.left();
      if (reader.calls.length === 0 || n === turnsMax - 1) return answer.finish(reader, runner);
      const results = await runner.run(reader.calls);
      answer.toolsMilli += results.costMilli;
      if (leaving.signal.aborted) return await answer.left();
      if (results.wrong !== null) return answer.fail({ failure: results.wrong, headers: refusalHeaders(job) });
      // It is the caller's turn: what was found for the model is in the answer.
      if (reader.callersCalls > 0 || results.waits) return answer.finish(reader, runner);
      const turns = await readTurns(planned.call, [{ role: 'assistant', parts: reader.parts }]);
      if (isFailure(turns)) return answer.fail({ failure: turns, headers: refusalHeaders(job) });
      messages.push(...turns, { role: 'tool', parts: results.parts });
    }
  }
}

/** Cost of the turns of an answer that has ended. `turned`: one had ended well, and a tool may have used up the time. */
function howPaid(job: Job, turned: boolean, nowMs: number): 'charged' | 'ran out' | 'free' {
  const { progress, isCallersDeadline, deadlineMs } = job;
  if (progress.delivered !== 'nothing') return 'charged';
  if ((isCallersDeadline || turned) && nowMs >= deadlineMs) progress.ranOut = true;
  return progress.ranOut === true ? 'ran out' : 'free';
}

/** A separate request, which names the caller's as the one that it is for. */
function laterTurn({ services, planned, job }: ToolLoop, messages: readonly NeutralMessage[]): PlannedCall {
  const { snapshot, call, plan, facts } = planned;
  const atMs = services.clock.wallMs();
  const { needs } = job.query;
  const inputTokensEstimate = needs.inputTokensEstimate + estimatedTokensOf(messages);
  return {
    snapshot,
    call: {
      ...call,
      requestId: newRequestId(atMs),
      clientRequestId: call.requestId,
      admitted: admittedBefore,
      atMs,
      startedMs: services.clock.monotonicMs(),
    },
    plan: { ...plan, calls: 1, query: { ...plan.query, needs: { ...needs, inputTokensEstimate } } },
    facts,
  };
}

/** The one answer that the turns of a model and the tools between them become, written in the caller's format. */
class LoopAnswer {
  readonly marks = new SourceMarks();
  /** Milli-units of turns. */
  costMilli = 0;
  /** The same of calls. */
  toolsMilli = 0;
  /** Calls of the caller's own functions so far. */
  callersCalls = 0;
  /** Whether a turn has ended well. */
  turned = false;
  readonly #job: Job;
  readonly #writer: EncodedAnswer;
  #headers: HeaderList = [];
  #losses: readonly Loss[] = [];
  #begun = false;
  /** Whether the upstream's first word was reported: only that of the first turn is. */
  #started = false;
  #first: readonly NeutralEvent[] = [];
  #usage: Usage | null = null;
  #mark: StreamMark | undefined;

  constructor(job: Job, writtenFor: WrittenFor) {
    this.#job = job;
    this.#writer = new EncodedAnswer(
      {
        start() {},
        content: () => true,
        chunk: (chunk) => this.bytes(chunk as Bytes),
        lose: (losses) => this.#lose(losses),
        end: (found, mark) => {
          this.#mark = mark;
          return found;
        },
      },
      writtenFor,
    );
  }

  /** Whether the caller has the beginning of a stream. */
  get isShown(): boolean {
    return this.#begun && this.#job.stream;
  }

  /** The headers that a turn's answer would have had. */
  began(headers: HeaderList): void {
    this.#headers = withCostOfAll(headers, this.#headers);
  }

  /** Bytes for the caller, as they are. */
  bytes(chunk: Bytes): Pace {
    if (!this.#begun) {
      this.#begun = true;
      const { stream, sink, progress } = this.#job;
      if (stream) progress.delivered = 'partial';
      const headers = withCost(this.#headers, (this.costMilli + this.toolsMilli) / 1_000);
      sink.start(stream ? 'events' : 'whole', withLosses(headers, this.#losses));
    }
    return this.#job.sink.chunk(chunk);
  }

  /** A turn's events, of which the reader keeps what is not for the caller. */
  read(reader: TurnReader, events: readonly NeutralEvent[]): Pace {
    return this.show(
      events.flatMap((event) => {
        const shown = reader.read(event);
        return shown === null ? [] : [shown];
      }),
    );
  }

  show(events: readonly NeutralEvent[]): Pace {
    const shown = events.flatMap((event) => {
      if (event.type === 'start') return this.#start(event);
      const before = this.#takeFirst();
      if (event.type === 'text-delta') return [...before, ...this.marks.text(event.text)];
      return [...before, ...this.marks.flush(), event];
    });
    return shown.length === 0 ? 'ready' : this.#writer.chunk(shown);
  }

  /** Shown before a turn's first event; not at all where the target runs the tools itself. */
  first(events: readonly NeutralEvent[]): void {
    this.#first = events;
  }

  /** A turn is over; others may follow. */
  ended(reader: TurnReader): void {
    this.turned = true;
    this.callersCalls += reader.callersCalls;
    if (reader.usage !== null) this.#usage = sumOf(this.#usage, reader.usage);
  }

  /** The last turn was `reader`'s. `made`: what was done here between the turns. */
  async finish(
    { finish, calls, callersCalls }: TurnReader,
    made: Pick<ToolRunner, 'webSearches' | 'webFetches'>,
  ): Promise<void> {
    const last: NeutralEvent[] = [];
    const used = this.#usage;
    if (used !== null) {
      const webSearches = (used.webSearches ?? 0) + made.webSearches;
      const counts = {
        ...(webSearches > 0 && { webSearches }),
        ...(made.webFetches > 0 && { webFetches: made.webFetches }),
      };
      last.push({ type: 'usage', usage: { ...used, ...counts } });
    }
    // A call that nobody makes any more is no reason to wait for one. The caller may let the model go on.
    const isCut = finish?.reason === 'tool-calls' && callersCalls === 0;
    if (finish !== null) last.push(isCut ? { ...finish, reason: calls.length > 0 ? 'pause' : 'stop' } : finish);
    this.show([...last, { type: 'end' }]);
    await this.#writer.end(null);
    const { progress, sink } = this.#job;
    progress.delivered = 'whole';
    progress.status = 200;
    sink.end(null);
  }

  /** The answer cannot go on. */
  async fail({ failure, headers }: Failed): Promise<void> {
    const { progress, client, sink } = this.#job;
    progress.class = failure.kind;
    progress.status = client.committed ? 200 : statusOf(failure);
    const isLimit = failure.kind === 'quota-exceeded';
    // Turns before stay charged where a limit, a guard or the caller's own fault ends it: no budget would ever count them
    // else, and a tool of the caller, which has read them by then, could end each answer so.
    const isCharged = this.turned && (isLimit || callersFaults.has(failure.kind));
    progress.delivered = this.isShown || isCharged ? 'partial' : 'nothing';
    if (this.#begun) await this.#writer.end(fault('truncated', 'a later turn failed'));
    const cost = (this.toolsMilli + (isCharged ? this.costMilli : 0)) / 1_000;
    // A limit's own headers are all that it shows.
    const shown = isLimit
      ? { ...failure, headers: [...(failure.headers ?? []), 'x-culvert-cost', `${cost}`] }
      : failure;
    sink.end({ failure: shown, headers: withCost(headers, cost), mark: this.#mark ?? progress.mark });
  }

  /** The caller left, or was cut off, while a tool or a later turn ran. */
  async left(): Promise<void> {
    const { progress, client } = this.#job;
    const status = client.committed ? 200 : 499;
    if (client.cutFor !== null) await this.fail({ failure: client.cutFor, headers: [] });
    progress.class = 'aborted';
    progress.status = status;
    progress.delivered = this.isShown ? 'partial' : 'nothing';
  }

  /** By a fault of ours. */
  broke(error: unknown): never {
    const { progress, client } = this.#job;
    progress.class = 'internal';
    progress.status = client.committed ? 200 : 500;
    progress.delivered = this.isShown ? 'partial' : 'nothing';
    throw error;
  }

  #start(event: NeutralEvent): NeutralEvent[] {
    if (this.#started) return [];
    this.#started = true;
    return [event, ...this.#takeFirst()];
  }

  #takeFirst(): readonly NeutralEvent[] {
    const first = this.#first;
    this.#first = [];
    return first;
  }

  #lose(losses: readonly Loss[]): void {
    const { progress, stream, sink } = this.#job;
    progress.losses = [...progress.losses, ...losses];
    this.#losses = losses;
    if (this.#begun && stream) sink.chunk(lossComment(losses));
  }
}
