import type { StreamMark } from '../../formats/dialects/dialect.ts';
import type { NeutralEvent } from '../../formats/neutral/event.ts';
import { type Loss, lossComment } from '../../formats/neutral/loss.ts';
import { fault } from '../../formats/neutral/outcome.ts';
import { sumOf, type Usage } from '../../formats/neutral/usage.ts';
import { statusOf } from '../../kernel/failure.ts';
import { EncodedAnswer, type WrittenFor, withCostOfAll } from '../spine/answer.ts';
import type { Job } from '../spine/job.ts';
import type { Bytes, Failed, HeaderList, Pace } from '../spine/sink.ts';
import { withCost, withLosses } from '../spine/steps/changed-headers.ts';
import type { ToolRunner } from './run-tools.ts';
import { SourceMarks } from './source-marks.ts';
import type { TurnReader } from './turn-reader.ts';

/** The one answer that the turns of a model and the tools between them become, written in the caller's format. */
export class LoopAnswer {
  readonly marks = new SourceMarks();
  /** Milli-units of turns and calls. */
  costMilli = 0;
  /** Calls of the caller's own functions so far. */
  callersCalls = 0;
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
      const headers = withCost(this.#headers, this.costMilli / 1_000);
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
  async fail(failed: Failed): Promise<void> {
    const { progress, client, sink } = this.#job;
    progress.class = failed.failure.kind;
    progress.status = client.committed ? 200 : statusOf(failed.failure);
    progress.delivered = this.#begun && this.#job.stream ? 'partial' : 'nothing';
    if (this.#begun) await this.#writer.end(fault('truncated', 'a later turn failed'));
    sink.end({ ...failed, mark: this.#mark ?? progress.mark });
  }

  /** The caller left, or was cut off, while a tool or a later turn ran. */
  async left(): Promise<void> {
    const { progress, client } = this.#job;
    const status = client.committed ? 200 : 499;
    if (client.cutFor !== null) await this.fail({ failure: client.cutFor, headers: [] });
    progress.class = 'aborted';
    progress.status = status;
    progress.delivered = this.#begun && this.#job.stream ? 'partial' : 'nothing';
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
