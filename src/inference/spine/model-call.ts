import type { Principal } from '../../books/auth/principal.ts';
import type { CacheUse } from '../../books/ledger/settled-request.ts';
import type { Admitted } from '../../books/metering/admission.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { RoutingWishes } from '../../routing/route.ts';
import type { Alias } from '../models/alias.ts';
import type { AnswerGate, AnswerTexts } from '../models/steps.ts';
import type { KeepingSteps } from './after.ts';
import type { Client, Delivery, HeaderList, Sink } from './sink.ts';

/** One request that a model answers, its caller known and admitted. */
export interface ModelCall {
  requestId: string;
  clientRequestId: string | null;
  principal: Principal;
  admitted: Admitted;
  delivery: Delivery;
  /** The waiting caller and the receiver of the answer: `delivery`, or a sink before it. */
  client: Client;
  sink: Sink;
  /** The caller's own, lower-case names; of them only an allow-list reaches an upstream. */
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  /** What its use is summed by, of `x-culvert-tag`; null: its body may say so. */
  tag: string | null;
  wishes: RoutingWishes;
  /** Of `Idempotency-Key`; a stream runs whatever it says. */
  idempotencyKey: string | null;
  /** Null: nobody traces it. */
  trace: Trace | null;
  /** A step changed or refused it: logs and traces leave its texts out. Absent: none shows them. */
  withhold?: (() => void) | undefined;
  /** Filters of its answer's texts; absent: there are none. */
  answerTexts?: AnswerTexts | undefined;
  /** What its answer waits for; absent: nothing. */
  gate?: AnswerGate | undefined;
  /** For an answer that may be kept; absent: it is not. */
  keeping?: KeepingSteps;
  /** What the cache of its model did; absent: nothing. */
  cacheUse?: CacheUse;
  /** The model with the targets of the variant that was chosen; absent: none was. */
  variant?: Alias | undefined;
  /** The prompt that it or its variant names, as `name@3`; absent: none. */
  prompt?: string;
  /** What steps say of it, as headers; absent: none applies. */
  stepHeaders?: (() => HeaderList) | undefined;
  /** Wall-clock and monotonic ms of arrival. */
  atMs: number;
  startedMs: number;
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
  | 'wishes'
  | 'callerHeaders'
  | 'trace'
  | 'stepHeaders'
>;

/** Nobody waits at the door: whoever calls so was admitted when its work began, such as a crawl. */
export const admittedBefore: Admitted = { kind: 'admitted', headers: [], calls: [], form: 'openai', release() {} };
