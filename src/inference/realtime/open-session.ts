import type { WebSocket } from 'ws';
import { randomBase62 } from '../../kernel/ids.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import type { EventForm } from '../dialects/realtime/response-writer.ts';
import { findVoice, unknownVoices } from '../dialects/speech/voices.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import type { Alias } from '../models/model-table.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import { pathOf } from '../providers/connection.ts';
import type { RouteAttempt } from '../routing/route.ts';
import { noDescriptor } from '../spine/attempt.ts';
import { statusFault, transportFault } from '../spine/attempt-faults.ts';
import { type HeaderList, refuse } from '../spine/sink.ts';
import { openWebSocket } from '../transport/web-socket.ts';
import { CascadeEnd } from './cascade-end.ts';
import { GeminiEnd } from './gemini-end.ts';
import { type HeldSession, holdSession, type SessionCall } from './held-session.ts';
import type { RealtimeServices } from './services.ts';
import { runSession } from './session.ts';
import { type SessionEnd, SocketEnd } from './socket-end.ts';

export interface SocketCall extends SessionCall {
  /** Makes the caller's connection a WebSocket, paused, with these headers in the answer; null: it has left. */
  accept(headers: HeaderList, messageBytesMax: number): Promise<WebSocket | null>;
}

/**
 * A session over a WebSocket. Whoever answers is connected before the caller's connection becomes one, so that a refusal
 * is a plain HTTP answer. Resolves when the session is over.
 */
export async function openSession(services: RealtimeServices, opened: SocketCall): Promise<void> {
  const { clock } = services;
  const { call, settings, ending, errorEvent } = opened;
  const limits = services.snapshot().config.server.realtime;
  const bounds = { idleMs: limits.idle, longestMs: limits.longest };
  const alias = services.snapshot().models.resolve(opened.model, call.principal);
  if (!('kind' in alias) && alias.realtime !== undefined) return openCascade(services, opened, alias, alias.realtime);
  const reach = async (attempt: RouteAttempt, to: ConfiguredProvider, signal: AbortSignal) => {
    const { apiVersion, basePath, provider } = to.connection;
    const path = pathOf(provider.realtime!.pathOf(attempt.target.model, { apiVersion }), basePath);
    return connectAt(services, attempt, to, { path, callerHeaders: call.callerHeaders, signal });
  };
  await holdSession(
    services,
    opened,
    () => true,
    reach,
    async (held) => {
      const { reached, headers, meter } = held;
      const accepted = await opened.accept(headers, limits.message_limit);
      if (accepted === null) return reached.socket.terminate();
      const upstream = upstreamEnd(opened, held);
      if (settings !== null) upstream.send(JSON.stringify({ type: 'session.update', session: settings }));
      const caller = new SocketEnd(accepted);
      await runSession({
        clock,
        caller,
        upstream,
        meter: meter(),
        ...bounds,
        ending,
        known: held.to.connection,
        errorEvent,
      });
    },
  );
}

/** The same for a model that holds no sessions: there is nobody to connect, and each step is held by itself. */
async function openCascade(
  services: RealtimeServices,
  opened: SocketCall,
  { id: chat }: Alias,
  cascade: NonNullable<Alias['realtime']>,
): Promise<void> {
  const { call, settings, ending, errorEvent } = opened;
  const { config, models } = services.snapshot();
  const { idle: idleMs, longest: longestMs, message_limit: messageBytesMax } = config.server.realtime;
  for (const name of [cascade.transcription, cascade.speech]) {
    const found = models.resolve(name, call.principal);
    if ('kind' in found) return refuse(call.sink, found, call.admitted.headers);
  }
  const accepted = await opened.accept(call.admitted.headers, messageBytesMax);
  if (accepted === null) return;
  const parts = { steps: services.steps, call, id: randomBase62(16), form: formOf(call), errorEvent };
  const upstream = new CascadeEnd({ ...parts, models: { chat, ...cascade } });
  if (settings !== null) upstream.send(JSON.stringify({ type: 'session.update', session: settings }));
  const caller = new SocketEnd(accepted);
  const { clock } = services;
  await runSession({ clock, caller, upstream, meter: null, idleMs, longestMs, ending, errorEvent });
}

function formOf({ callerHeaders }: SessionCall['call']): EventForm {
  return callerHeaders['openai-beta'] === 'realtime=v1' ? 'older' : 'present';
}

/** Whoever answers, in OpenAI's events. */
function upstreamEnd({ call, model }: SocketCall, { reached, attempt, to }: HeldSession<Connected>): SessionEnd {
  const { format, voices } = to.connection.provider.realtime!;
  const socket = new SocketEnd(reached.socket);
  if (format === 'openai') return socket;
  const known = voices ?? unknownVoices;
  return new GeminiEnd(socket, {
    id: randomBase62(16),
    alias: model,
    model: reached.resource ?? attempt.target.model,
    form: formOf(call),
    voiceOf: (name) => findVoice(name, known, { mapped: undefined, listed: [] })?.name ?? null,
    voices: known.names,
  });
}

/** A WebSocket at a provider. */
export interface Connected {
  socket: WebSocket;
  /** The model as its provider's setup names it, where that is not its id. */
  resource: string | null;
}

/** Opens a WebSocket to a provider, with the credential of an attempt. */
export async function connectAt(
  { transport, clock, snapshot }: Pick<RealtimeServices, 'transport' | 'clock' | 'snapshot'>,
  { target, credential }: RouteAttempt,
  { connection }: ConfiguredProvider,
  asked: { path: string; callerHeaders: SessionCall['call']['callerHeaders']; signal: AbortSignal },
): Promise<{ kind: 'reached'; value: Connected } | { kind: 'missed'; fault: Fault }> {
  const { origin, route, credentials, provider } = connection;
  const headers = credentials.get(credential.id)!;
  const outcome = await openWebSocket(
    transport,
    {
      origin,
      route,
      path: asked.path,
      headers: [...headers.get, ...(provider.realtime?.format === 'openai' ? passedHeaders(asked.callerHeaders) : [])],
      authorize: headers.authorize,
      subject: provider.realtime?.resourceOf?.(target.model, connection.basePath),
      connectTimeoutMs: target.timeouts.connectMs,
      acceptTimeoutMs: target.timeouts.firstTokenMs,
      messageBytesMax: snapshot().config.server.realtime.message_limit,
    },
    asked.signal,
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
