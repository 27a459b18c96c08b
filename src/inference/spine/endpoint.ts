import type { CostLine } from '../../books/metering/admission.ts';
import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { TracedContent } from '../../kernel/trace.ts';
import type { RouteQuery } from '../../routing/route.ts';
import type { Alias } from '../models/alias.ts';
import type { ChargedAs } from '../models/charged-as.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { AttemptSteps } from './attempts/run-attempts.ts';
import type { Job } from './job.ts';
import type { ModelCall } from './model-call.ts';
import type { PassedForm } from './passed-form.ts';
import type { Reading } from './reading.ts';
import type { RequestBody } from './request-body.ts';
import type { AnswerForm, AttemptSink, HeaderList } from './sink.ts';

/** Decisions on a request before anything is held for it. */
export interface Plan {
  alias: Alias;
  charged: ChargedAs;
  /** Calls or pictures that it may take, each of which costs; 1 for most. */
  calls: number;
  query: RouteQuery;
  /** Names of its targets where steps chose among them; absent: none did. */
  chosen?: readonly string[];
  form: AnswerForm;
  /** The field that names what lives at a provider, so that only its credential can answer; absent: any may. */
  bound?: string | null | undefined;
  /** Headers of its answers, in addition to those of all: flat name, value… */
  headers?: HeaderList;
  /** Same as in the job. */
  given?: Job['given'] | undefined;
}

/**
 * Form in which answers are kept for equal requests: the events of a conversation, which every format can write again,
 * or the bytes of a whole body.
 */
export type CachedForm = 'events' | 'bytes';

/** One request on its way, as its family knows it. */
export interface PlannedRequest<R, P> {
  call: ModelCall;
  snapshot: Snapshot;
  request: R;
  plan: P;
}

/**
 * A family of endpoints, as the spine sees it: the meaning of a request, who may answer it, and the work of one
 * attempt. `I` is the received form, `R` the read one.
 */
export interface Endpoint<I, R extends RequestBody, P extends Plan = Plan> extends Reading<ModelCall, I, R> {
  /** Name in the ledger. */
  readonly id: string;
  readonly cost: CostLine;
  /** Steps filter the events of its answers (`ModelCall.answerTexts`), or they hold no text; absent: the bytes. */
  readonly filters?: 'events' | 'nothing';
  /** Content that two equal requests have in common, for their Idempotency-Key. */
  content(input: I): Buffer | Promise<Buffer>;
  /** Targets that may answer, and their cost; the failure comes before anything is held. */
  plan(snapshot: Snapshot, call: ModelCall, request: R): P | Failure | Promise<P | Failure>;
  /** The work of its attempts, once its cost is held. */
  trials(planned: PlannedRequest<R, P>, job: Job): Trials;
  /** Form in which the answer to this request may be kept for equal ones; null: it may not. Absent: none may. */
  keeps?(request: R): CachedForm | null;
  /** Answers that were kept as their upstream's bytes. Absent: none is. */
  passed?: PassedAnswers<R, P>;
  /** The same request without what it continues, and of which nothing is kept; null or absent: there is none. */
  unkept?(request: R): Buffer | null;
  /** For the traces of keys that allow it: request and answer; absent: a trace has nothing to show. */
  traced?(input: I, answer: Buffer): TracedContent;
}

/** Answers of a provider that were kept as bytes. */
export interface PassedAnswers<R, P> {
  /** Null: they cannot be read. */
  events(
    planned: PlannedRequest<R, P>,
    provider: string,
    form: PassedForm,
    bytes: Buffer,
  ): readonly NeutralEvent[] | null;
  /** Answer in this caller's form; null: it takes another form. */
  again(planned: PlannedRequest<R, P>, provider: string, form: PassedForm, bytes: Buffer): PassedAgain | null;
}

export interface PassedAgain {
  /** Null: it cannot be read. */
  bytes(): Buffer | null;
  /** Equal for callers who get the same bytes. */
  like: string;
  /** Id in place of the answer's. */
  id: string;
}

export interface Trials extends AttemptSteps {
  /** The sink that writes kept events for the caller, in front of `last`; absent: none are kept. */
  write?: (last: AttemptSink) => AttemptSink;
  /** All attempts, when they are more than one row of them. Ends the client's answer. */
  run?(): Promise<void>;
}
