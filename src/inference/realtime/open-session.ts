import type { WebSocket } from 'ws';
import { randomBase62 } from '../../kernel/ids.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { findVoice, unknownVoices } from '../dialects/speech/voices.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import { pathOf } from '../providers/connection.ts';
import type { RouteAttempt } from '../routing/route.ts';
import { noDescriptor } from '../spine/attempt.ts';
import { statusFault, transportFault } from '../spine/attempt-faults.ts';
import type { HeaderList } from '../spine/sink.ts';
import { openWebSocket } from '../transport/web-socket.ts';
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
      const { reached: socket, headers, meter } = held;
      const accepted = await opened.accept(headers, limits.message_limit);
      if (accepted === null) return socket.terminate();
      const upstream = upstreamEnd(opened, held, new SocketEnd(socket));
      if (settings !== null) upstream.send(JSON.stringify({ type: 'session.update', session: settings }));
      const bounds = { idleMs: limits.idle, longestMs: limits.longest };
      const caller = new SocketEnd(accepted);
      await runSession({ clock, caller, upstream, meter: meter(), ...bounds, ending, errorEvent });
    },
  );
}

/** Whoever answers, in OpenAI's events. */
function upstreamEnd(
  { call, model }: SocketCall,
  { attempt, to }: HeldSession<WebSocket>,
  socket: SocketEnd,
): SessionEnd {
  const { format, voices } = to.connection.provider.realtime!;
  if (format === 'openai') return socket;
  const known = voices ?? unknownVoices;
  return new GeminiEnd(socket, {
    id: randomBase62(16),
    alias: model,
    model: attempt.target.model,
    form: call.callerHeaders['openai-beta'] === 'realtime=v1' ? 'older' : 'present',
    voiceOf: (name) => findVoice(name, known, { mapped: undefined, listed: [] })?.name ?? null,
    voices: known.names,
  });
}

/** Opens a WebSocket to a provider, with the credential of an attempt. */
export async function connectAt(
  { transport, clock, snapshot }: Pick<RealtimeServices, 'transport' | 'clock' | 'snapshot'>,
  { target, credential }: RouteAttempt,
  { connection }: ConfiguredProvider,
  asked: { path: string; callerHeaders: SessionCall['call']['callerHeaders']; signal: AbortSignal },
): Promise<{ kind: 'reached'; value: WebSocket } | { kind: 'missed'; fault: Fault }> {
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
      connectTimeoutMs: target.timeouts.connectMs,
      acceptTimeoutMs: target.timeouts.firstTokenMs,
      messageBytesMax: snapshot().config.server.realtime.message_limit,
    },
    asked.signal,
  );
  if (outcome.kind === 'open') return { kind: 'reached', value: outcome.socket };
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
