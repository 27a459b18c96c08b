import { callerIdOf } from '../../../books/auth/principal.ts';
import { costMilliOf, waitingResponseEndpoint } from '../../../books/metering/settlement.ts';
import type { TurnEnd } from '../../../formats/media/realtime/turn-events.ts';
import { usdOf } from '../../../formats/neutral/price.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { newRequestId } from '../../../kernel/ids.ts';
import type { AttemptRecord, RouteAttempt } from '../../../routing/route.ts';
import type { Alias } from '../../models/alias.ts';
import { endUserOf } from '../../spine/end-user.ts';
import { type HeldCall, holdCall, newProgress } from '../../spine/held-call.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { RealtimeServices } from './services.ts';

/** The call that opened a session, and who answers it. */
export interface MeteredSession {
  call: ModelCall;
  alias: Alias;
  attempt: RouteAttempt;
  /** Attempts to open it that failed. */
  failed: readonly AttemptRecord[];
  /** Called for a response that its key may not have. */
  refused(failure: Failure, requestId: string): void;
}

/** Held for one response. */
interface Turn {
  held: HeldCall;
  firstTokenMs: number | null;
}

/** Holds what one response of a session costs until it begins; the first has the id of the call that opened it. */
export async function holdTurn(
  services: RealtimeServices,
  call: ModelCall,
  { id, tier, cost }: Alias,
  requestId: string,
): Promise<HeldCall | Failure> {
  const { snapshots, clock } = services;
  // By which all responses of a session are found.
  const clientRequestId = call.clientRequestId ?? (requestId === call.requestId ? null : call.requestId);
  const held = await holdCall(
    services,
    { ...call, requestId, clientRequestId, atMs: clock.wallMs() },
    {
      endpoint: waitingResponseEndpoint,
      alias: id,
      tier,
      costMilli: costMilliOf(snapshots.current.config.costs, 'realtime', cost),
      user: endUserOf(call, null),
    },
  );
  if (held.kind === 'held') held.claim.endpoint = 'realtime';
  return held;
}

/**
 * Holds, for each response of a session, what it costs, and settles it when the response is done: each is a row of the
 * ledger. The first one is held before the session opens, and nothing between two responses.
 */
export class TurnMeter {
  readonly #services: RealtimeServices;
  readonly #session: MeteredSession;
  /** For a response that has not begun. */
  #next: Turn | null;
  readonly #running = new Map<string, Turn>();
  /** Reservations under way, which a session's end waits for. */
  readonly #reserving = new Set<Promise<unknown>>();
  #over = false;

  constructor(services: RealtimeServices, session: MeteredSession, held: HeldCall) {
    this.#services = services;
    this.#session = session;
    this.#next = this.#turn(held);
  }

  /** Before the caller's request for a response goes on. Null: what it costs is held; else the promise tells why not. */
  requested(): Promise<Failure | null> | null {
    if (this.#next !== null) return null;
    return this.#reserve((turn) => {
      this.#next = turn;
    });
  }

  /** The provider has begun a response, maybe unasked. As above. */
  begun(id: string): Promise<Failure | null> | null {
    const turn = this.#next;
    if (turn === null) return this.#reserve((made) => this.#run(id, made));
    this.#next = null;
    turn.held.startedMs = this.#services.clock.monotonicMs();
    this.#run(id, turn);
    return null;
  }

  /** Something of it has come. */
  content(id: string): void {
    const turn = this.#running.get(id);
    if (turn !== undefined) turn.firstTokenMs ??= this.#services.clock.monotonicMs() - turn.held.startedMs;
  }

  done(id: string, end: TurnEnd): void {
    const turn = this.#running.get(id);
    if (turn !== undefined) {
      this.#running.delete(id);
      return this.#settle(turn, end);
    }
    // It was over before its reservation was: it is paid for all the same.
    if (this.#reserving.size > 0) void Promise.all(this.#reserving).then(() => this.#late(id, end));
  }

  /** The provider wrote down speech with another model of its: that is a row without units. Tells why it may not be. */
  writtenDown(model: string | null, usage: Usage): Promise<Failure | null> {
    const { attempt } = this.#session;
    const { provider } = attempt.target;
    const { models } = this.#services.snapshots.current;
    const known = model === null ? null : models.targetAt(provider, model);
    const named = model ?? 'transcription';
    const target = known ?? { ...attempt.target, id: `${provider}/${named}`, model: named, price: null };
    return this.#waitedFor(this.#chargeBeside({ ...attempt, target }, usage));
  }

  /** The session is over, and `rest` is how its responses ended. What was held for none goes back. Resolves when nothing is held. */
  async end(rest: 'cancelled' | 'failed'): Promise<void> {
    this.#over = true;
    await Promise.all(this.#reserving);
    for (const turn of this.#running.values()) this.#settle(turn, { usage: null, status: rest });
    this.#running.clear();
    if (this.#next !== null) this.#settle(this.#next, null);
    this.#next = null;
  }

  #run(id: string, turn: Turn): void {
    turn.held.began();
    this.#running.set(id, turn);
  }

  #late(id: string, end: TurnEnd): void {
    const turn = this.#running.get(id);
    this.#running.delete(id);
    if (turn !== undefined) this.#settle(turn, end);
  }

  #reserve(take: (turn: Turn) => void): Promise<Failure | null> {
    return this.#waitedFor(this.#ask(take));
  }

  #waitedFor(asking: Promise<Failure | null>): Promise<Failure | null> {
    this.#reserving.add(asking);
    return asking.finally(() => this.#reserving.delete(asking));
  }

  async #chargeBeside(attempt: RouteAttempt, usage: Usage): Promise<Failure | null> {
    const held = await this.#hold({ ...this.#session.alias, cost: 0 });
    if (held.kind !== 'held') return held;
    this.#settle(this.#turn(held), { usage, status: 'completed' }, attempt);
    return null;
  }

  async #ask(take: (turn: Turn) => void): Promise<Failure | null> {
    const held = await this.#hold(this.#session.alias);
    if (held.kind !== 'held') return held;
    const turn = this.#turn(held);
    if (this.#over) this.#settle(turn, null);
    else take(turn);
    return null;
  }

  async #hold(alias: Alias): Promise<HeldCall | Failure> {
    const { principalOf, clock } = this.#services;
    const { call } = this.#session;
    const requestId = newRequestId(clock.wallMs());
    const principal = principalOf(callerIdOf(call.principal));
    const refused = (failure: Failure) => {
      this.#session.refused(failure, requestId);
      return failure;
    };
    if (isFailure(principal)) return refused(principal);
    const held = await holdTurn(this.#services, { ...call, principal }, alias, requestId);
    return held.kind === 'held' ? held : refused(held);
  }

  #turn(held: HeldCall): Turn {
    held.startedMs = this.#services.clock.monotonicMs();
    return { held, firstTokenMs: null };
  }

  /** `end` null: no response came of it. */
  #settle({ held, firstTokenMs }: Turn, end: TurnEnd | null, attempt = this.#session.attempt): void {
    const { call, failed } = this.#session;
    const { target, credential } = attempt;
    const isFirst = held.claim.requestId === call.requestId;
    const progress = newProgress();
    if (isFirst) progress.attempts.push(...failed);
    if (end !== null) {
      const { usage, status } = end;
      const usageSource = usage === null ? 'none' : 'upstream';
      progress.attempts.push({
        target: target.id,
        provider: target.provider,
        model: target.model,
        credential: credential.id,
        class: status === 'failed' ? 'transient' : status === 'cancelled' ? 'cancelled' : 'ok',
        status: null,
        startMs: 0,
        ms: this.#services.clock.monotonicMs() - held.startedMs,
        firstTokenMs,
        bytes: 0,
        usage,
        usageSource,
        costUsd: usage === null ? null : usdOf(usage, target.price, held.claim.atMs),
        message: status === 'completed' ? null : `the response ended as '${status}'`,
      });
      // A response that failed or was cut is charged what its provider counted.
      progress.delivered =
        status === 'completed' || usage !== null ? 'whole' : firstTokenMs === null ? 'nothing' : 'partial';
      progress.usage = usage;
      progress.usageSource = usageSource;
    }
    progress.answeredBy = end === null ? null : attempt;
    progress.passThrough = true;
    progress.firstTokenMs = firstTokenMs;
    const isFailed = end?.status === 'failed';
    progress.status = isFailed ? 502 : 200;
    if (isFailed) progress.class = 'upstreams-failed';
    held.settle({ stream: true, progress, client: { disconnected: false, committed: true } });
  }
}
