import type { Failure } from '../../kernel/failure.ts';
import type { TracedContent } from '../../kernel/trace.ts';
import type { CostLine } from '../../metering/admission.ts';
import type { Result } from '../dialects/dialect.ts';
import type { ChargedAs } from '../models/charged-as.ts';
import type { Alias } from '../models/model-table.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { RouteQuery } from '../routing/route.ts';
import type { Job, MakeTrial } from './job.ts';
import type { ModelCall } from './model-call.ts';
import type { RequestBody } from './request-body.ts';
import type { AnswerForm, HeaderList } from './sink.ts';

/** What is decided of a request before anything is held for it. */
export interface Plan {
  alias: Alias;
  charged: ChargedAs;
  /** Calls or pictures that it may take, each of which costs; 1 for most. */
  calls: number;
  query: RouteQuery;
  form: AnswerForm;
  /** The field that names what lives at a provider, so that only its credential can answer; absent: any may. */
  bound?: string | null | undefined;
  /** Of its answers, beside those of all: flat name, value… */
  headers?: HeaderList;
  /** As the job's. */
  given?: Job['given'] | undefined;
}

/** One request on its way, as its family knows it. */
export interface Asked<R, P> {
  call: ModelCall;
  snapshot: Snapshot;
  request: R;
  plan: P;
}

/**
 * A family of endpoints, as the spine asks it: what a request says, who may answer it, and what one attempt does. `I` is
 * what was received, `R` what was read of it.
 */
export interface Endpoint<I, R extends RequestBody, P extends Plan = Plan> {
  /** As the ledger names it. */
  readonly id: string;
  readonly cost: CostLine;
  /** Checks what was received; the failure is the caller's. */
  read(call: ModelCall, input: I): Result<R> | Promise<Result<R>>;
  /** What two equal requests have in common, for their Idempotency-Key. */
  content(input: I): Buffer | Promise<Buffer>;
  /** Who may answer, and for how much; the failure is told before anything is held. */
  plan(snapshot: Snapshot, call: ModelCall, request: R): P | Failure | Promise<P | Failure>;
  /** What its attempts do, once its cost is held. */
  trials(asked: Asked<R, P>, job: Job): Trials;
  /** For the traces of keys that allow it: what was asked and answered; absent: nothing that a trace could show. */
  traced?(input: I, answer: Buffer): TracedContent;
}

export interface Trials {
  trial: MakeTrial;
  /** All attempts, where they are more than one row of them. Ends the client's answer. */
  run?(): Promise<void>;
}
