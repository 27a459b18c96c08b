import { type Failure, invalid, statusOf } from '../../kernel/failure.ts';
import type { AnswerHead, CallerDialect, StreamEncoder } from '../dialects/dialect.ts';
import { isContent, type NeutralEvent } from '../neutral/event.ts';
import type { Usage } from '../neutral/usage.ts';
import { refusalHeaders } from './answer-headers.ts';
import type { Caller, HeaderList } from './caller.ts';
import { ChildCaller } from './child-caller.ts';
import type { ConversationBody } from './conversation-body.ts';
import type { EventSink } from './converted.ts';
import { type ContestParts, type Job, type JobProgress, newProgress } from './job.ts';
import { prepareWith } from './prepare.ts';
import { runAttempts } from './run-attempts.ts';

/** More children than this would let one request fill a provider. */
export const fanOutMax = 8;

/**
 * `n` > 1 over targets that give one choice a call: n children under one deadline, each with attempts of its own and
 * `seed + i`, merged into one answer with their choice indexes. A child's failure before content is the request's; after
 * it, an error event.
 */
export async function runFanOut(
  parts: ContestParts,
  job: Job,
  body: ConversationBody,
  answer: { dialect: CallerDialect; head: AnswerHead },
): Promise<void> {
  const { n, seed } = body.facts;
  if (n > fanOutMax) {
    const failure = invalid('n', `Model '${job.alias}' answers at most ${fanOutMax} choices (n); ${n} were asked.`);
    job.progress.status = statusOf(failure);
    job.progress.class = failure.kind;
    return job.caller.refuse(failure, refusalHeaders(job));
  }
  const merge = new Merge(job, answer.dialect, answer.head, n);
  // Of those that run, the child that asks leaves its own attempt out.
  const attemptsMade = () =>
    children.reduce((made, child) => made + child.progress.attempts.length, job.progress.attempts.length) +
    Math.max(0, merge.running - 1);
  const children = Array.from({ length: n }, (_, index): Job => {
    const caller = merge.childCaller(index);
    return {
      ...job,
      caller,
      lastResort: null,
      prepare: prepareWith(
        body,
        job.providers,
        { seed: seed === null ? null : seed + index },
        answer.dialect.id,
        job.media,
      ),
      sink: () => merge.sink(index),
      progress: newProgress(),
      attemptsMade,
    };
  });
  await Promise.all(children.map((child) => runAttempts(parts, child)));
  joinProgress(
    job.progress,
    children.map((child) => child.progress),
    job.caller.committed,
  );
}

/** Where the children's answers become one. */
class Merge {
  readonly #job: Job;
  readonly #encoder: StreamEncoder;
  readonly #fold;
  readonly #callers: ChildCaller[] = [];
  readonly #wholes: (readonly NeutralEvent[])[] = [];
  readonly #usages = new Map<number, Usage>();
  /** Children that have not ended. */
  running: number;
  #started = false;

  constructor(job: Job, dialect: CallerDialect, head: AnswerHead, children: number) {
    this.#job = job;
    this.running = children;
    this.#encoder = dialect.encodeStream(head);
    this.#fold = dialect.fold(head);
    job.caller.onGone(() => {
      for (const child of this.#callers) child.leave();
    });
    job.caller.onDrain(() => {
      for (const child of this.#callers) child.drained();
    });
  }

  childCaller(index: number): Caller {
    const child = new ChildCaller(this.#job.caller, {
      ended: (headers, events) => this.#childEnded(index, headers, events),
      failed: (failure, headers) => this.#childFailed(failure, headers),
      events: () => this.#wholes[index] ?? [],
    });
    this.#callers.push(child);
    return child;
  }

  sink(index: number): EventSink {
    return this.#job.stream ? this.#streamSink(index) : this.#wholeSink(index);
  }

  /** Nothing reaches the shared encoder before content: an attempt that fails until then must leave no trace. */
  #streamSink(index: number): EventSink {
    let before: NeutralEvent[] | null = [];
    return {
      add: (event) => {
        if (before === null) return this.#encode(index, event);
        before.push(event);
        if (!isContent(event) && event.type !== 'end') return '';
        const held = before;
        before = null;
        return held.map((earlier) => this.#encode(index, earlier)).join('');
      },
      result: () => '',
    };
  }

  #encode(index: number, event: NeutralEvent): string {
    switch (event.type) {
      case 'start':
        if (this.#started) return '';
        this.#started = true;
        return this.#encoder.step(event);
      case 'usage':
        this.#usages.set(index, event.usage);
        return '';
      case 'end':
      case 'failed':
        return '';
      default:
        return this.#encoder.step({ ...event, choice: index });
    }
  }

  #wholeSink(index: number): EventSink {
    const events: NeutralEvent[] = [];
    return {
      add(event) {
        events.push(event);
        return '';
      },
      result: () => {
        this.#wholes[index] = events;
        return ' ';
      },
    };
  }

  #childEnded(index: number, headers: HeaderList, events: readonly NeutralEvent[]): void {
    for (const event of events) if (event.type === 'usage') this.#usages.set(index, event.usage);
    this.running--;
    if (this.running > 0) return;
    const usage: NeutralEvent = { type: 'usage', usage: sumUsage([...this.#usages.values()]) };
    if (this.#job.stream) {
      this.#job.caller.write(this.#encoder.step(usage) + this.#encoder.step({ type: 'end' }));
      this.#job.caller.endStream();
      return;
    }
    this.#wholes.forEach((whole, choice) => {
      for (const event of whole) {
        if (
          event.type === 'start'
            ? choice === 0
            : event.type !== 'usage' && event.type !== 'end' && event.type !== 'failed'
        ) {
          this.#fold.add('choice' in event ? { ...event, choice } : event);
        }
      }
    });
    this.#fold.add(usage);
    this.#fold.add({ type: 'end' });
    this.#job.caller.answer(200, headers, JSON.stringify(this.#fold.result()));
  }

  #childFailed(failure: Failure, headers: HeaderList): void {
    const { caller } = this.#job;
    if (caller.committed) caller.failStream(failure);
    else caller.refuse(failure, headers);
    for (const child of this.#callers) child.leave();
  }
}

function sumUsage(usages: readonly Usage[]): Usage {
  const sum = (pick: (usage: Usage) => number | undefined) =>
    usages.reduce((total, usage) => total + (pick(usage) ?? 0), 0);
  return {
    inputTokens: sum((usage) => usage.inputTokens),
    outputTokens: sum((usage) => usage.outputTokens),
    cachedInputTokens: sum((usage) => usage.cachedInputTokens),
    reasoningTokens: sum((usage) => usage.reasoningTokens),
  };
}

/**
 * One request in the books: attempts in a row, tokens summed, as far as the furthest child, as bad as the worst. A whole
 * answer that one child failed was not `committed`: then the others' answers reached nobody.
 */
function joinProgress(into: JobProgress, children: readonly JobProgress[], committed: boolean): void {
  const failed = children.find((child) => child.class !== 'ok' && child.class !== 'aborted');
  const first = children[0]!;
  // A route over targets with native n may have been tried before.
  into.attempts.push(...children.flatMap((child) => child.attempts));
  into.verdicts = [...into.verdicts, ...first.verdicts];
  into.losses = first.losses;
  into.malformedLines = children.reduce((sum, child) => sum + child.malformedLines, 0);
  into.answeredBy = children.find((child) => child.answeredBy !== null)?.answeredBy ?? null;
  into.firstTokenMs = children.reduce<number | null>(
    (least, { firstTokenMs }) => (firstTokenMs === null ? least : Math.min(least ?? firstTokenMs, firstTokenMs)),
    null,
  );
  const used = children.flatMap(({ usage }) => (usage === null ? [] : [usage]));
  into.usage = used.length === 0 ? null : sumUsage(used);
  into.usageSource = children.every(({ usageSource }) => usageSource === 'upstream') ? 'upstream' : 'counted';
  const whole = children.every(({ delivered }) => delivered === 'whole');
  const reached = children.filter(({ delivered }) => delivered !== 'nothing').length;
  into.delivered = !committed || reached === 0 ? 'nothing' : whole ? 'whole' : 'partial';
  const sent = children.filter(({ attempts }) => attempts.length > 0).length;
  into.calls = Math.max(1, reached === 0 ? sent : reached);
  into.status = failed?.status ?? first.status;
  into.class = failed?.class ?? first.class;
}
