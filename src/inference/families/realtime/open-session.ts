import type { WebSocket } from 'ws';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { eventIn, type Frame, mayBe } from '../../../formats/media/realtime/events.ts';
import type { GeminiLiveFacts } from '../../../formats/media/realtime/gemini-live.ts';
import type { EventForm } from '../../../formats/media/realtime/response-writer.ts';
import { withTranscriptionModel } from '../../../formats/media/realtime/session-settings.ts';
import { responseTurns, transcriptionTurns } from '../../../formats/media/realtime/turn-events.ts';
import { findVoice, unknownVoices } from '../../../formats/media/speech/voices.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { pathOf } from '../../../formats/providers/provider-connection.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { randomBase62 } from '../../../kernel/ids.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { RouteAttempt, RouteCandidate } from '../../../routing/route.ts';
import { openWebSocket } from '../../../upstream/transport/web-socket.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { noDescriptor } from '../../spine/attempts/attempt.ts';
import { statusFault, transportFault } from '../../spine/attempts/attempt-faults.ts';
import { PassingSink } from '../../spine/passing-sink.ts';
import { type Failed, type HeaderList, refuse } from '../../spine/sink.ts';
import { CascadeEnd, type CascadeParts } from './cascade-end.ts';
import { GeminiEnd } from './gemini-end.ts';
import {
  type HeldSession,
  holdSession,
  notRealtime,
  notTranscribing,
  ruledSession,
  type SessionCall,
} from './held-session.ts';
import { runSession } from './realtime-session.ts';
import type { RealtimeServices } from './services.ts';
import { type SessionEnd, SocketEnd } from './socket-end.ts';
import { TranscriptionEnd, type TranscriptionFacts } from './transcription-end.ts';

export interface SocketCall extends SessionCall {
  /** Makes the caller's connection a WebSocket, paused, with these headers in the answer; null: it has left. */
  accept(headers: HeaderList, messageBytesMax: number): Promise<SessionEnd | null>;
  /** Whether a model answers, or what the caller says is written down alone. */
  kind: 'realtime' | 'transcription';
  /** Whether the caller has its `session.created` already. */
  created: TranscriptionFacts['created'];
}

/**
 * A session over a WebSocket. The upstream is connected before the caller's connection becomes one, so that a refusal
 * is a plain HTTP answer. Resolves when the session is over.
 */
export async function openSession(services: RealtimeServices, socketCall: SocketCall): Promise<void> {
  const opened = await ruledSession(services, socketCall);
  if (opened === null) return;
  // Its events have the caller's name for the model, whatever rules made of it.
  const renamed = { ...opened, model: socketCall.model };
  const { clock } = services;
  const { call, settings, ending, errorEvent } = opened;
  const limits = services.snapshots.current.config.server.realtime;
  const bounds = { idleMs: limits.idle, longestMs: limits.longest };
  const isTranscription = opened.kind === 'transcription';
  const cascade = cascadeOf(services, opened);
  if (cascade !== null) {
    if (isFailure(cascade)) return refuse(call.sink, cascade, call.admitted.headers);
    return openCascade(services, renamed, cascade);
  }
  const ways = isTranscription ? new TranscriptionWays(call.sink) : null;
  const connect = (attempt: RouteAttempt, to: ConfiguredProvider, signal: AbortSignal) => {
    const { apiVersion, basePath, provider } = to.connection;
    const facts = provider.realtime!;
    const at = isTranscription ? facts.transcriptions! : facts.pathOf(attempt.target.model, { apiVersion });
    const path = pathOf(at, basePath);
    return connectAt(services, attempt, to, { path, callerHeaders: call.callerHeaders, signal });
  };
  const reach: typeof connect = async (attempt, to, signal) => {
    const outcome = await connect(attempt, to, signal);
    if (outcome.kind === 'missed') ways?.missed(to, outcome.fault);
    return outcome;
  };
  await holdSession(
    services,
    ways === null ? opened : { ...opened, call: { ...call, sink: ways }, goesOnByCalls: () => ways.isByCalls },
    ({ transcriptions }) => !isTranscription || transcriptions !== undefined,
    reach,
    async (held) => {
      const { reached, headers, meter } = held;
      const caller = await opened.accept(headers, limits.message_limit);
      if (caller === null) return reached.socket.terminate();
      const upstream = isTranscription
        ? new TranscriptionEnd(new SocketEnd(reached.socket), {
            model: { named: renamed.model, there: held.attempt.target.model },
            created: opened.created,
            errorEvent,
          })
        : upstreamEnd(renamed, held, (signal) => connect(held.attempt, held.to, signal));
      const session = isTranscription && opened.created === 'untold' ? named(renamed) : settings;
      if (session !== null) upstream.send(JSON.stringify({ type: 'session.update', session }));
      await runSession({
        clock,
        caller,
        upstream,
        meter: meter(),
        turns: isTranscription ? transcriptionTurns : responseTurns,
        ...bounds,
        ending,
        known: held.to.connection,
        errorEvent,
      });
    },
  );
  if (ways?.isByCalls) await openCascade(services, renamed, { transcription: opened.model, answers: null });
}

type CascadeModels = Pick<CascadeParts, 'transcription' | 'answers'>;

/** Null: the targets of the model hold the session themselves. */
function cascadeOf(services: RealtimeServices, { model, kind, call }: SocketCall): CascadeModels | Failure | null {
  const { models, providers } = services.snapshots.current;
  const alias = models.resolve(model, call.principal);
  if (isFailure(alias)) return alias;
  if (kind === 'transcription') {
    const wrong = notTranscribing(alias);
    if (wrong !== null) return wrong;
    const holds = ({ target }: RouteCandidate) => holdsTranscriptions(providers.get(target.provider));
    return alias.candidates.some(holds) ? null : { transcription: model, answers: null };
  }
  if (alias.realtime === undefined) return notRealtime(alias);
  const { transcription, ...conversing } = alias.realtime;
  for (const name of [transcription, conversing.speech]) {
    const found = models.resolve(name, call.principal);
    if (isFailure(found)) return found;
  }
  const sees = alias.candidates.some(({ target }) => target.capabilities.vision) ? 'images' : 'text';
  return { transcription, answers: { chat: alias.id, sees, ...conversing } };
}

/** A session for a model that holds none: there is nobody to connect, and each step is a separate call. */
async function openCascade(services: RealtimeServices, opened: SocketCall, cascade: CascadeModels): Promise<void> {
  const { call, settings, ending, errorEvent } = opened;
  const { idle: idleMs, longest: longestMs, message_limit } = services.snapshots.current.config.server.realtime;
  const caller = await opened.accept(call.admitted.headers, message_limit);
  if (caller === null) return;
  const end = new CascadeEnd({
    ...cascade,
    steps: services.steps,
    holdSound: () => services.uploads.room.hold(call.principal.account),
    call,
    id: randomBase62(16),
    form: formOf(call),
    errorEvent,
  });
  const upstream =
    opened.kind === 'realtime'
      ? end
      : new TranscriptionEnd(end, {
          model: { named: opened.model, there: cascade.transcription },
          created: opened.created,
          errorEvent,
        });
  if (settings !== null) upstream.send(JSON.stringify({ type: 'session.update', session: settings }));
  const { clock } = services;
  const turns = responseTurns;
  await runSession({ clock, caller, upstream, meter: null, turns, idleMs, longestMs, ending, errorEvent });
}

/** The settings of a transcription with its model, for the provider. */
function named({ settings, model }: SocketCall): JsonObject {
  return withTranscriptionModel({ type: 'transcription', ...settings }, model);
}

function formOf({ callerHeaders }: SessionCall['call']): EventForm {
  return callerHeaders['openai-beta'] === 'realtime=v1' ? 'older' : 'present';
}

/** The upstream's end, in OpenAI's events. */
function upstreamEnd(
  { call, model }: SocketCall,
  { reached, attempt, to }: HeldSession<Connected>,
  connect: (signal: AbortSignal) => ReturnType<typeof connectAt>,
): SessionEnd {
  const { format, voices, resumes = false } = to.connection.provider.realtime!;
  if (format === 'openai') return new SocketEnd(reached.socket, modelWritten(model, attempt.target.model));
  const known = voices ?? unknownVoices;
  const facts: GeminiLiveFacts = {
    id: randomBase62(16),
    alias: model,
    model: reached.resource ?? attempt.target.model,
    form: formOf(call),
    voiceOf: (name) => findVoice(name, known, { mapped: undefined, listed: [] })?.name ?? null,
    voices: known.names,
    resumes,
  };
  return new GeminiEnd(new SocketEnd(reached.socket), facts, async (signal) => {
    const outcome = await connect(signal);
    return outcome.kind === 'reached' ? new SocketEnd(outcome.value.socket) : null;
  });
}

/** Writes the model of the session, which SDKs repeat in their updates, as its provider knows it. */
function modelWritten(named: string, there: string): (frame: Frame) => Frame {
  return (frame) => {
    const event = mayBe(frame, 'session.update') ? eventIn(frame) : null;
    if (event?.type !== 'session.update' || !isObject(event.session) || event.session.model !== named) return frame;
    return JSON.stringify({ ...event, session: { ...event.session, model: there } });
  };
}

/** A WebSocket at a provider. */
export interface Connected {
  socket: WebSocket;
  /** The model as its provider's setup names it, where that is not its id. */
  resource: string | null;
}

/** Opens a WebSocket to a provider, with the credential of an attempt. */
export async function connectAt(
  { transport, clock, snapshots }: Pick<RealtimeServices, 'transport' | 'clock' | 'snapshots'>,
  { target, credential }: RouteAttempt,
  { connection }: ConfiguredProvider,
  request: { path: string; callerHeaders: SessionCall['call']['callerHeaders']; signal: AbortSignal },
): Promise<{ kind: 'reached'; value: Connected } | { kind: 'missed'; fault: Fault }> {
  const { origin, route, credentials, provider } = connection;
  const headers = knownEntry(credentials, credential.id);
  const outcome = await openWebSocket(
    transport,
    {
      origin,
      route,
      path: request.path,
      headers: [
        ...headers.get,
        ...(provider.realtime?.format === 'openai' ? passedHeaders(request.callerHeaders) : []),
      ],
      authorize: headers.authorize,
      subject: provider.realtime?.resourceOf?.(target.model, connection.basePath),
      connectTimeoutMs: target.timeouts.connectMs,
      acceptTimeoutMs: target.timeouts.firstTokenMs,
      messageBytesMax: snapshots.current.config.server.realtime.message_limit,
    },
    request.signal,
  );
  if (outcome.kind === 'open') {
    const resource = outcome.subject?.replace(/^\//, '') ?? null;
    return { kind: 'reached', value: { socket: outcome.socket, resource } };
  }
  if (outcome.kind === 'failed') {
    if (outcome.error.kind === 'no-descriptor') throw noDescriptor();
    return { kind: 'missed', fault: transportFault(outcome.error, { begun: false, status: null }) };
  }
  // A redirect or a 200 is no refusal of the caller's, and no WebSocket either.
  const { status } = outcome;
  if (status < 400) return { kind: 'missed', fault: fault('malformed', `answered ${status} to a WebSocket`, status) };
  return { kind: 'missed', fault: statusFault(outcome, openAiChat, connection, clock.wallMs()) };
}

/** The version of OpenAI's events that the caller speaks, and a hash of its user, by which OpenAI stops abuse. */
function passedHeaders(headers: SessionCall['call']['callerHeaders']): string[] {
  return ['openai-beta', 'openai-safety-identifier'].flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' && /^[\w=.,:; -]{1,200}$/.test(value) ? [name, value] : [];
  });
}

/** Providers that turned out to hold no sessions of transcriptions, until the configuration changes. */
const lacking = new WeakSet<ConfiguredProvider>();

/** Whether a provider holds sessions of transcriptions, by its type and as far as it has been asked. */
function holdsTranscriptions(to: ConfiguredProvider | undefined): boolean {
  return to?.connection.provider.realtime?.transcriptions !== undefined && !lacking.has(to);
}

/** Statuses of servers that took over a part of OpenAI's API, and have no such address. */
const noAddress: ReadonlySet<number | null> = new Set([404, 405, 501]);

/** The sink of an attempt to open a session: a refusal goes on, unless all providers asked have no such address. */
class TranscriptionWays extends PassingSink {
  /** Each piece of speech has to be a call. */
  isByCalls = false;
  #attempts = 0;
  #lacking = 0;

  /** Notes how a provider refused a session. */
  missed(to: ConfiguredProvider, { status, code }: Fault): void {
    this.#attempts += 1;
    if (!noAddress.has(status) || code === 'model_not_found') return;
    this.#lacking += 1;
    lacking.add(to);
  }

  override end(failed: Failed | null): void {
    this.isByCalls = failed !== null && this.#attempts > 0 && this.#attempts === this.#lacking;
    if (!this.isByCalls) this.next.end(failed);
  }
}
