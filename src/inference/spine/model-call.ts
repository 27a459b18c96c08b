import type { Admitted } from '../../books/metering/admission.ts';
import type { AttemptRecord, RoutingPreferences } from '../../routing/route.ts';
import type { Alias } from '../models/alias.ts';
import type { AnswerGate, AnswerTexts, RunningStep, TargetChoice } from '../models/steps.ts';
import type { ChargedCall } from './held-call.ts';
import type { Client, Delivery, Sink } from './sink.ts';
import type { KeepingSteps } from './steps/after.ts';

/** One request that a model answers, its caller known and admitted. */
export interface ModelCall extends ChargedCall {
  delivery: Delivery;
  /** The waiting caller and the receiver of the answer: `delivery`, or a sink before it. */
  client: Client;
  sink: Sink;
  /** Headers of the caller with lower-case names; of them only an allow-list reaches an upstream. */
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  preferences: RoutingPreferences;
  /** Value of `Idempotency-Key`. A stream runs in any case. */
  idempotencyKey: string | null;
  /** A step changed or refused it: logs and traces leave its texts out. Absent: none shows them. */
  withhold?: (() => void) | undefined;
  /** Called with the model that it names, once it is planned. Absent: nobody asks. */
  planned?: ((model: string) => void) | undefined;
  /** Looks of its steps at what is added to it later; absent: none looks. */
  turns?: readonly NonNullable<RunningStep['turns']>[] | undefined;
  /** Filters of its answer's texts; absent: there are none. */
  answerTexts?: AnswerTexts | undefined;
  /** Gate that its answer waits for; absent: none. */
  gate?: AnswerGate | undefined;
  /** For an answer that may be kept; absent: it is not. */
  keeping?: KeepingSteps;
  /** Steps choose among its targets; absent: none does. */
  chooses?: ((targets: readonly string[]) => Promise<TargetChoice>) | undefined;
  /** Gets each attempt that has ended; absent: nobody wants it. */
  attempted?: ((attempt: AttemptRecord) => void) | undefined;
  /** The model with the targets of the variant that was chosen; absent: none was. */
  variant?: Alias | undefined;
}

/** Facts of it for attempts. */
export type RunCall = Pick<
  ModelCall,
  | 'requestId'
  | 'principal'
  | 'client'
  | 'sink'
  | 'atMs'
  | 'startedMs'
  | 'preferences'
  | 'callerHeaders'
  | 'trace'
  | 'stepHeaders'
  | 'attempted'
  | 'turns'
  | 'answerTexts'
  | 'withhold'
>;

/** Admission of work that was admitted when it began, such as a crawl. */
export const admittedBefore: Admitted = { kind: 'admitted', headers: [], calls: [], form: 'openai', release() {} };
