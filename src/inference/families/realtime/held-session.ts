import type { RealtimeEvent } from '../../../formats/media/realtime/events.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { noNeeds } from '../../../formats/neutral/request.ts';
import type { RealtimeFacts } from '../../../formats/providers/provider.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { noneServes, noneUsable } from '../../../routing/capability.ts';
import type { RouteAttempt, RouteCandidate } from '../../../routing/route.ts';
import type { Alias } from '../../models/alias.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { Answer } from '../../spine/answer.ts';
import { runAttempts } from '../../spine/attempts/run-attempts.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';
import type { Job } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { plainQuery, plainTarget } from '../../spine/plain-request.ts';
import { modelThroughRules } from '../../spine/ruled.ts';
import { jobOf } from '../../spine/serve.ts';
import { type HeaderList, refuse, type Sink } from '../../spine/sink.ts';
import { sessionRefusal } from '../../spine/steps/before.ts';
import type { Ending } from './realtime-session.ts';
import type { RealtimeServices } from './services.ts';
import { holdTurn, TurnMeter } from './turn-meter.ts';

/** A caller that asks for a session. */
export interface SessionCall {
  call: ModelCall;
  model: string;
  /** Settings of the session in its client secret, before the caller's own; null: none. */
  settings: JsonObject | null;
  ending: Ending;
  errorEvent(failure: Failure): RealtimeEvent;
  /** Called for a response within the session that its key may not have. */
  refused(failure: Failure, requestId: string): void;
  /** Whether the session that could not be opened goes on by calls, which have separate rows. Absent: it never does. */
  goesOnByCalls?(): boolean;
}

/** One attempt to reach a target. What it reached, or why not. */
export type Reach<Reached> = (
  attempt: RouteAttempt,
  to: ConfiguredProvider,
  signal: AbortSignal,
) => Promise<{ kind: 'reached'; value: Reached } | { kind: 'missed'; fault: Fault }>;

/** A session whose first response is reserved and whose target is reached. */
export interface HeldSession<Reached> {
  reached: Reached;
  attempt: RouteAttempt;
  to: ConfiguredProvider;
  snapshot: Snapshot;
  /** For the answer that opens the session. */
  headers: HeaderList;
  /** To be called once the caller has its session: from then on each response settles itself. */
  meter(): TurnMeter;
}

/** A session with the model and the caller that rules for routes give it; null: they refuse it, and it is answered. */
export async function ruledSession<S extends SessionCall>(services: RealtimeServices, session: S): Promise<S | null> {
  const snapshot = services.snapshots.current;
  if (snapshot.rules === null) return session;
  // A session begins without a text.
  const sources = { left: services.admission.left, inner: null };
  const facts = { endpoint: 'realtime', model: session.model, stream: true };
  const ruled = await modelThroughRules(snapshot, sources, session.call, facts);
  if (!isFailure(ruled)) return { ...session, ...ruled };
  refuse(session.call.sink, ruled, session.call.admitted.headers);
  return null;
}

/** Types of models that may talk. The configuration calls any model of a provider 'chat' that it gives no type. */
const talkingTypes: ReadonlySet<Alias['type']> = new Set(['realtime', 'chat', 'speech']);

/** The refusal of a model that holds realtime sessions at no provider; null: its provider may hold one. */
export function notRealtime({ id, type }: Pick<Alias, 'id' | 'type'>): Failure | null {
  if (talkingTypes.has(type)) return null;
  const message = `The model '${id}' is not a realtime model: its type is '${type}'. Use one of the type 'realtime'.`;
  return invalid('model', message);
}

/** The refusal of a model that writes down no speech; null: it does. */
export function notTranscribing({ id, type }: Pick<Alias, 'id' | 'type'>): Failure | null {
  if (type === 'transcription') return null;
  return invalid('model', `The model '${id}' does not transcribe. Use one of the type 'transcription'.`);
}

/**
 * Reserves the first response of a session and reaches a target for it, in the order and with the failover of every
 * request; a refusal is the call's answer. Then `hold` has the session until its end.
 */
export async function holdSession<Reached>(
  services: RealtimeServices,
  { call, model, refused, goesOnByCalls }: SessionCall,
  serves: (facts: RealtimeFacts) => boolean,
  reach: Reach<Reached>,
  hold: (session: HeldSession<Reached>) => Promise<void>,
): Promise<void> {
  let snapshot = services.snapshots.current;
  if (snapshot.pricing !== null) {
    await snapshot.pricing;
    snapshot = services.snapshots.current;
  }
  const way = sessionWay(snapshot, call, model, serves);
  if (isFailure(way)) return refuse(call.sink, way, call.admitted.headers);
  const { alias } = way;
  const unread = snapshot.steps === null ? null : sessionRefusal(snapshot, call, alias);
  if (unread !== null) return refuse(call.sink, unread, call.admitted.headers);
  const held = await holdTurn(services, call, alias, call.requestId);
  if (held.kind !== 'held') return refuse(call.sink, held, call.admitted.headers);

  const query = plainQuery(way, { needs: noNeeds }, call.preferences, call.principal.tenant);
  const sink = new HeadSink(call.sink);
  const plan = { alias, query, calls: 1, form: 'whole' as const };
  const job = jobOf(snapshot, 'realtime', { ...call, sink }, plan, held.reserved, { user: null });
  let found: { attempt: RouteAttempt; value: Reached } | null = null;
  let meter: TurnMeter | null = null;
  try {
    await runAttempts(services, job, {
      trial: (answer) =>
        reaching(answer, job, reach, (value) => {
          found = { attempt: answer.attempt, value };
        }),
    });
    // Set by a callback, which the compiler does not follow.
    const reached = found as { attempt: RouteAttempt; value: Reached } | null;
    if (reached === null) return;
    const { attempt, value } = reached;
    const failed = job.progress.attempts.filter((one) => one.class !== 'ok');
    await hold({
      reached: value,
      attempt,
      to: knownEntry(snapshot.providers, attempt.target.provider),
      snapshot,
      headers: sink.headers,
      meter() {
        meter = new TurnMeter(services, { call, alias, attempt, failed, refused }, held);
        return meter;
      },
    });
  } finally {
    if (meter === null && goesOnByCalls?.() === true) held.release();
    else if (meter === null) {
      // No session came of it, whichever service was reached.
      job.progress.delivered = 'nothing';
      held.settle(job);
    }
  }
}

/** The alias and its targets that hold such sessions; a 404, 403 or 400 when there is none. */
function sessionWay(
  { models, providers }: Snapshot,
  { principal }: ModelCall,
  model: string,
  serves: (facts: RealtimeFacts) => boolean,
): { alias: Alias; candidates: readonly RouteCandidate[] } | Failure {
  const alias = models.resolve(model, principal);
  if (isFailure(alias)) return alias;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const holds = ({ target }: RouteCandidate): boolean => {
    const facts = providers.get(target.provider)?.connection.provider.realtime;
    return facts !== undefined && serves(facts);
  };
  const candidates = alias.candidates
    .filter(holds)
    .map(({ target, rank }) => ({ target: plainTarget(target, 'realtime'), rank }));
  if (candidates.length > 0) return { alias, candidates };
  const able = models.list(principal).filter((other) => other.candidates.some(holds));
  return noneServes(alias, 'holds such realtime sessions', able);
}

function reaching<Reached>(
  answer: Answer,
  { providers }: Job,
  reach: Reach<Reached>,
  reached: (value: Reached) => void,
): Trial {
  const stopping = new AbortController();
  const seen: AttemptSeen = { status: null, bytes: 0, usage: null, usageSource: 'none' };
  return {
    signs: 0,
    // How long a handshake takes says nothing of how long silence is usual.
    shows: null,
    async run() {
      const { attempt } = answer;
      const outcome = await reach(attempt, knownEntry(providers, attempt.target.provider), stopping.signal);
      if (outcome.kind === 'missed') {
        seen.status = outcome.fault.status;
        return stopping.signal.aborted ? (stopping.signal.reason as Fault) : outcome.fault;
      }
      // Nothing runs in parallel, so that it is not too late.
      if (!answer.begin('whole', { losses: [], answer: 'pass-through' })) return fault('cancelled', 'it came too late');
      reached(outcome.value);
      answer.end();
      return null;
    },
    stop: (why) => stopping.abort(why),
    seen: () => seen,
  };
}

/** Keeps the headers of the answer that opens a session; refusals go on. */
class HeadSink implements Sink {
  headers: HeaderList = [];
  readonly #next: Sink;

  constructor(next: Sink) {
    this.#next = next;
  }

  start(_form: unknown, headers: HeaderList): void {
    this.headers = headers;
  }

  chunk(): 'ready' {
    return 'ready';
  }

  end(failed: Parameters<Sink['end']>[0]): void {
    if (failed !== null) this.#next.end(failed);
  }
}
