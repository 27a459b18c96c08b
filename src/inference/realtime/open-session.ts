import type { WebSocket } from 'ws';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import type { RealtimeEvent } from '../dialects/realtime/events.ts';
import type { Alias } from '../models/model-table.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import { noNeeds } from '../neutral/request.ts';
import { pathOf } from '../providers/connection.ts';
import { noneUsable } from '../routing/capability.ts';
import type { RouteAttempt, RouteCandidate } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import type { Answer } from '../spine/answer.ts';
import { noDescriptor } from '../spine/attempt.ts';
import { statusFault, transportFault } from '../spine/attempt-faults.ts';
import type { Job } from '../spine/job.ts';
import type { ModelCall } from '../spine/model-call.ts';
import { plainQuery } from '../spine/plain-request.ts';
import { runAttempts } from '../spine/run-attempts.ts';
import { jobOf } from '../spine/serve.ts';
import { settleCall } from '../spine/settle-call.ts';
import { type HeaderList, refuse, type Sink } from '../spine/sink.ts';
import type { AttemptSeen, Trial } from '../spine/trial.ts';
import { openWebSocket } from '../transport/web-socket.ts';
import type { RealtimeServices } from './services.ts';
import { runSession } from './session.ts';
import { SocketEnd } from './socket-end.ts';
import { TurnMeter, turnClaim } from './turn-meter.ts';

/** A caller that asks for a session. */
export interface SessionCall {
  call: ModelCall;
  /** Makes its connection a WebSocket, paused, with these headers in the answer; null: it has left. */
  accept(headers: HeaderList, messageBytesMax: number): Promise<WebSocket | null>;
  draining: AbortSignal;
  errorEvent(failure: Failure): RealtimeEvent;
  /** Told of a response within the session that its key may not have. */
  refused(failure: Failure, requestId: string): void;
}

/**
 * A session with a model: its first response is reserved and whoever answers is connected before the caller's
 * connection becomes a WebSocket, so that a refusal is a plain HTTP answer. Resolves when the session is over.
 */
export async function openSession(services: RealtimeServices, opened: SessionCall, model: string): Promise<void> {
  const { call } = opened;
  const pricing = services.pricing();
  if (pricing !== null) await pricing;
  const snapshot = services.snapshot();
  const way = sessionWay(snapshot, call, model);
  if ('kind' in way) return refuse(call.sink, way, call.admitted.headers);
  const { alias } = way;
  const claim = turnClaim(services, call, alias, call.requestId);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refuse(call.sink, reserved, call.admitted.headers);

  const query = plainQuery(way, { needs: noNeeds }, call.wishes, call.principal.tenant);
  const answered = new HeadSink(call.sink);
  const plan = { alias, query, calls: 1, form: 'whole' as const };
  const job = jobOf(snapshot, 'realtime', { ...call, sink: answered }, plan, reserved, { user: null });
  const { message_limit: messageBytesMax, idle: idleMs, longest: longestMs } = snapshot.config.server.realtime;
  const connecting = new Connecting(services, job, messageBytesMax);
  let meter: TurnMeter | null = null;
  try {
    await runAttempts(services, job, (answer) => connecting.trial(answer));
    const { connected } = connecting;
    if (connected === null) return;
    const { socket, attempt } = connected;
    const accepted = await opened.accept(answered.headers, messageBytesMax);
    if (accepted === null) return socket.terminate();
    const failed = job.progress.attempts.filter((one) => one.class !== 'ok');
    const { refused, draining, errorEvent } = opened;
    meter = new TurnMeter(services, { call, alias, attempt, failed, refused }, claim, reserved);
    const caller = new SocketEnd(accepted);
    const upstream = new SocketEnd(socket);
    await runSession({ clock: services.clock, caller, upstream, meter, idleMs, longestMs, draining, errorEvent });
  } finally {
    if (meter === null) {
      connecting.connected?.socket.terminate();
      // No session came of it, whoever answered the handshake.
      job.progress.delivered = 'nothing';
      settleCall(services, call, claim, reserved, job);
    }
  }
}

/** The alias and its targets that hold sessions; a 404, 403 or 400 when there is none. */
function sessionWay(
  { models, providers }: Snapshot,
  { principal }: ModelCall,
  model: string,
): { alias: Alias; candidates: readonly RouteCandidate[] } | Failure {
  const alias = models.resolve(model, principal);
  if ('kind' in alias) return alias;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const candidates = alias.candidates
    .filter(({ target }) => providers.get(target.provider)?.connection.provider.realtime !== undefined)
    .map(({ target, rank }) => ({ target: asHolding(target), rank }));
  if (candidates.length > 0) return { alias, candidates };
  return invalid('model', `No provider of the model '${alias.id}' holds realtime sessions. Use another model.`);
}

/** The same target as sessions see it: its health is its own. Kept, since health knows targets again by identity. */
function asHolding(target: Target): Target {
  let seen = holding.get(target);
  if (seen === undefined) {
    seen = { ...target, dialect: openAiChat.id, alsoSpeaks: [], healthId: `${target.id} (realtime)` };
    holding.set(target, seen);
  }
  return seen;
}

const holding = new WeakMap<Target, Target>();

/** Keeps the headers of an answer that is a WebSocket; refusals go on. */
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

/** Opens the WebSocket of one target after the other, until one is open. */
class Connecting {
  connected: { socket: WebSocket; attempt: RouteAttempt } | null = null;
  readonly #services: Pick<RealtimeServices, 'transport' | 'clock'>;
  readonly #job: Job;
  readonly #messageBytesMax: number;

  constructor(services: RealtimeServices, job: Job, messageBytesMax: number) {
    this.#services = services;
    this.#job = job;
    this.#messageBytesMax = messageBytesMax;
  }

  trial(answer: Answer): Trial {
    const stopping = new AbortController();
    const seen: AttemptSeen = { status: null, bytes: 0, usage: null, usageSource: 'none' };
    return {
      signs: 0,
      // A handshake is no sign of how long silence is usual.
      shows: null,
      run: () => this.#run(answer, stopping.signal, seen),
      stop: (why) => stopping.abort(why),
      seen: () => seen,
    };
  }

  async #run(answer: Answer, signal: AbortSignal, seen: AttemptSeen): Promise<Fault | null> {
    const { transport, clock } = this.#services;
    const { target, credential } = answer.attempt;
    const { connection } = this.#job.providers.get(target.provider)!;
    const { origin, route, basePath, apiVersion, provider } = connection;
    const headers = connection.credentials.get(credential.id)!;
    const path = pathOf(provider.realtime!.pathOf(target.model, { apiVersion }), basePath);
    const outcome = await openWebSocket(
      transport,
      {
        origin,
        route,
        path,
        headers: [...headers.get, ...passedHeaders(this.#job.callerHeaders)],
        authorize: headers.authorize,
        connectTimeoutMs: target.timeouts.connectMs,
        acceptTimeoutMs: target.timeouts.firstTokenMs,
        messageBytesMax: this.#messageBytesMax,
      },
      signal,
    );
    if (signal.aborted) {
      if (outcome.kind === 'open') outcome.socket.terminate();
      return signal.reason as Fault;
    }
    if (outcome.kind === 'failed') {
      if (outcome.error.kind === 'no-descriptor') throw noDescriptor();
      return transportFault(outcome.error, { begun: false, status: null });
    }
    if (outcome.kind === 'refused') {
      seen.status = outcome.status;
      return refusalOf(statusFault(outcome, openAiChat, connection, clock.wallMs()));
    }
    seen.status = 101;
    if (!answer.begin('whole', { losses: [], answer: 'pass-through' })) {
      outcome.socket.terminate();
      return fault('cancelled', 'another target answered first');
    }
    this.connected = { socket: outcome.socket, attempt: answer.attempt };
    answer.end();
    return null;
  }
}

/** A redirect or a 200 is no refusal of the caller's, and no WebSocket either. */
function refusalOf(found: Fault): Fault {
  return (found.status ?? 0) < 400
    ? fault('malformed', `answered ${found.status} to a WebSocket`, found.status)
    : found;
}

/** The version of OpenAI's events that the caller speaks, and who its user is: a hash, by which OpenAI stops abuse. */
function passedHeaders(headers: Job['callerHeaders']): string[] {
  return ['openai-beta', 'openai-safety-identifier'].flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' && /^[\w=.,:; -]{1,200}$/.test(value) ? [name, value] : [];
  });
}
