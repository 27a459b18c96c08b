import type { AnswerHead, CallerDialect, StreamEncoder } from '../../../formats/dialects/dialect.ts';
import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import { type Loss, lossComment, lossesOf } from '../../../formats/neutral/loss.ts';
import { sumOf, type Usage } from '../../../formats/neutral/usage.ts';
import { invalid, statusOf } from '../../../kernel/failure.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import { withCostOfAll, withModel } from '../../spine/answer.ts';
import { type AttemptSteps, runAttempts } from '../../spine/attempts/run-attempts.ts';
import { besideUsd } from '../../spine/beside-usd.ts';
import { ChildClient } from '../../spine/child-client.ts';
import { newProgress } from '../../spine/held-call.ts';
import type { ContestParts, Job, JobProgress } from '../../spine/job.ts';
import { type Chunk, type Client, type Failed, type HeaderList, type Sink, sendWhole } from '../../spine/sink.ts';
import { refusalHeaders, withLosses } from '../../spine/steps/changed-headers.ts';
import { type Conversation, conversationTrial } from './conversation-trial.ts';

/** More children than this would let one request fill a provider. */
const fanOutMax = 8;

/** A request for several choices. */
export interface Choices {
  conversation: Conversation;
  dialect: CallerDialect;
  head: AnswerHead;
  remedy: NonNullable<AttemptSteps['remedy']>;
}

/**
 * `n` > 1 over targets that give one choice a call: n children under one deadline, each with its own attempts and `seed
 * + i`, merged into one answer with their choice indexes. A child's failure before content is the request's; after it,
 * an error event.
 */
export async function runFanOut(parts: ContestParts, job: Job, choices: Choices): Promise<void> {
  const { conversation, dialect, head, remedy } = choices;
  const { n, seed } = conversation.body.facts;
  if (n > fanOutMax) {
    const failure = invalid(
      'n',
      `The model '${job.query.alias}' gives at most ${fanOutMax} choices (n); the request asks for ${n}.`,
    );
    job.progress.status = statusOf(failure);
    job.progress.class = failure.kind;
    return job.sink.end({ failure, headers: refusalHeaders(job) });
  }
  const merge = new Merge(job, dialect, head, n);
  // Of the running children, the one that asks leaves its own attempt out.
  const attemptsMade = () =>
    children.reduce((made, child) => made + child.progress.attempts.length, job.progress.attempts.length) +
    Math.max(0, merge.running - 1);
  const children = Array.from(
    { length: n },
    (_, index): Job<Chunk> => ({ ...job, ...merge.child(index), progress: newProgress(), attemptsMade }),
  );
  const ends = await Promise.allSettled(
    children.map(async (child, index) => {
      const single: Conversation = {
        ...conversation,
        child: { seed: seed === null ? null : seed + index },
        media: () => conversation.media(child.client),
      };
      try {
        await runAttempts(parts, child, {
          trial: (answer) => conversationTrial(parts, child, single, answer, null),
          remedy,
        });
      } catch (error) {
        // The handler of the crash ends the client's answer: nothing of the others comes after it.
        merge.stop();
        throw error;
      }
    }),
  );
  joinProgress(
    job,
    children.map((child) => child.progress),
    merge,
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  // Cut before its end: the children have only left.
  if (job.client.cutFor !== null) job.sink.end({ failure: job.client.cutFor, headers: [] });
}

const nothingUsed: Usage = { inputTokens: 0, outputTokens: 0 };

/** Joins the children's answers into one. */
class Merge {
  readonly #job: Job;
  readonly #head: AnswerHead;
  readonly #encoder: StreamEncoder;
  readonly #fold;
  readonly #clients: ChildClient[] = [];
  readonly #wholes: NeutralEvent[][] = [];
  readonly #usages = new Map<number, Usage>();
  /** Children that have not ended. */
  running: number;
  /** Whether the client has received something: a stream from its start, a whole answer only once it is complete. */
  reached: boolean;
  #started = false;
  #headers: HeaderList = [];

  constructor(job: Job, dialect: CallerDialect, head: AnswerHead, children: number) {
    this.#job = job;
    this.#head = head;
    this.running = children;
    this.reached = job.stream;
    this.#encoder = dialect.encodeStream(head);
    this.#fold = dialect.fold(head);
    job.client.onDisconnect(() => this.stop());
    job.client.onDrain(() => {
      for (const child of this.#clients) child.drained();
    });
  }

  /** Losses of its parts in the client's format, at the end. */
  get losses(): Loss[] {
    return lossesOf((this.#job.stream ? this.#encoder : this.#fold).lost);
  }

  child(index: number): { client: Client; sink: Sink<Chunk> } {
    const client = new ChildClient(this.#job.client);
    this.#clients.push(client);
    const whole: NeutralEvent[] = [];
    this.#wholes.push(whole);
    const sink: Sink<Chunk> = {
      start: (form, headers) => {
        this.#headers = withCostOfAll(headers, this.#headers);
        if (form !== 'whole') this.#job.sink.start(form, headers);
      },
      chunk: (chunk) => {
        // Every answer of a child is converted.
        const events = chunk as readonly NeutralEvent[];
        if (client.disconnected) return 'ready';
        if (this.#job.stream) return this.#write(events.map((event) => this.#encode(index, event)).join(''));
        whole.push(...events);
        return 'ready';
      },
      end: (failed) => {
        if (client.disconnected) return;
        if (failed === null) this.#childEnded(index);
        else this.#childFailed(failed);
      },
    };
    return { client, sink };
  }

  #write(frames: string) {
    return frames === '' ? 'ready' : this.#job.sink.chunk(frames);
  }

  #encode(index: number, event: NeutralEvent): string {
    switch (event.type) {
      case 'start':
        if (this.#started) return '';
        this.#started = true;
        return this.#encoder.step(withModel(event, this.#head));
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

  #childEnded(index: number): void {
    for (const event of this.#wholes[index] ?? []) if (event.type === 'usage') this.#usages.set(index, event.usage);
    this.running--;
    if (this.running > 0) return;
    const { sink, stream } = this.#job;
    const usage: NeutralEvent = { type: 'usage', usage: [...this.#usages.values()].reduce(sumOf, nothingUsed) };
    if (stream) {
      const last = this.#encoder.step(usage) + this.#encoder.step({ type: 'end' });
      const { losses } = this;
      sink.chunk(losses.length === 0 ? last : lossComment(losses) + last);
      return sink.end(null);
    }
    for (const [choice, whole] of this.#wholes.entries()) {
      for (const event of whole) {
        if (event.type === 'usage' || event.type === 'end' || event.type === 'failed') continue;
        if (event.type !== 'start') this.#fold.add({ ...event, choice });
        else if (choice === 0) this.#fold.add(withModel(event, this.#head));
      }
    }
    this.#fold.add(usage);
    this.#fold.add({ type: 'end' });
    this.reached = true;
    sendWhole(sink, withLosses(this.#headers, this.losses), JSON.stringify(this.#fold.result()));
  }

  #childFailed(failed: Failed): void {
    this.#job.sink.end(failed);
    this.stop();
  }

  /** Nobody waits for any child any more. */
  stop(): void {
    for (const child of this.#clients) child.leave();
  }
}

/**
 * One request in the ledger: attempts in a row, summed tokens, the progress of the furthest child, the outcome of the
 * worst. A whole answer in which one child failed has not `reached` the client: the others' answers were for nobody.
 */
function joinProgress(
  { progress: into, atMs }: Pick<Job, 'progress' | 'atMs'>,
  children: readonly JobProgress[],
  { reached: answerReached, losses }: Merge,
): void {
  const failed = children.find((child) => child.class !== 'ok' && child.class !== 'aborted');
  const first = children[0]!;
  // A route over targets with native n may have been tried before.
  into.attempts.push(...children.flatMap((child) => child.attempts));
  into.verdicts = [...into.verdicts, ...first.verdicts];
  into.losses = [...first.losses, ...losses];
  into.malformedLines = children.reduce((sum, child) => sum + child.malformedLines, 0);
  into.answeredBy = children.find((child) => child.answeredBy !== null)?.answeredBy ?? null;
  into.firstTokenMs = children.reduce<number | null>(
    (least, { firstTokenMs }) => (firstTokenMs === null ? least : Math.min(least ?? firstTokenMs, firstTokenMs)),
    null,
  );
  into.usage = children.flatMap(({ usage }) => usage ?? []).reduce(sumOf, null as Usage | null);
  into.besideUsd += besideUsd(children, into, atMs);
  into.usageSource = children.every(({ usageSource }) => usageSource === 'upstream') ? 'upstream' : 'counted';
  const whole = children.every(({ delivered }) => delivered === 'whole');
  const reached = children.filter(({ delivered }) => delivered !== 'nothing').length;
  into.delivered = !answerReached || reached === 0 ? 'nothing' : whole ? 'whole' : 'partial';
  const sent = children.filter(({ attempts }) => attempts.length > 0).length;
  into.calls = Math.max(1, reached === 0 ? sent : reached);
  if (children.some(({ ranOut }) => ranOut)) into.ranOut = true;
  into.status = failed?.status ?? first.status;
  into.class = failed?.class ?? first.class;
}

/** How many calls `n` choices may take over these targets, each of which costs: one where all of them give n at once. */
export function callsOf(n: number, candidates: readonly RouteCandidate[]): number {
  return candidates.every(({ target }) => target.capabilities.nativeN) ? 1 : Math.min(n, fanOutMax);
}

/**
 * `n` > 1: targets that give several choices in one call first; when none of them answers, or there is none, the
 * others by one call a choice. `steps` ask for all of them in one call.
 */
export async function runChoices(parts: ContestParts, job: Job, steps: AttemptSteps, choices: Choices): Promise<void> {
  const { query, progress } = job;
  const { n } = choices.conversation.body.facts;
  const native = query.targets.filter(({ target }) => target.capabilities.nativeN);
  const single = query.targets.filter(({ target }) => !target.capabilities.nativeN);
  const fanOut = () =>
    runFanOut(parts, { ...job, query: { ...query, targets: single, needs: { ...query.needs, n: 1 } } }, choices);
  if (native.length === 0) return fanOut();
  // All in one call.
  progress.calls = 1;
  if (single.length === 0) return runAttempts(parts, job, steps);
  const inOne: Job = {
    ...job,
    // Once each: to repeat one is worse than to go on with the others.
    query: { ...query, targets: native, attemptsMax: Math.min(native.length, query.attemptsMax) },
    costMilli: job.costMilli / callsOf(n, query.targets),
  };
  await runAttempts(parts, inOne, { ...steps, lastResort: fanOut });
}
