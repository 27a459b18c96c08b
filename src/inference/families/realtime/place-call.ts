import { setTimeout as rest } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { responseTurns } from '../../../formats/media/realtime/turn-events.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import type { UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../../upstream/transport/whole-answer.ts';
import type { Alias } from '../../models/alias.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { statusFault } from '../../spine/attempts/attempt-faults.ts';
import { refuse, sendWhole } from '../../spine/sink.ts';
import { formUpload } from '../../spine/upload-body.ts';
import { holdSession, notRealtime, ruledSession, type SessionCall } from './held-session.ts';
import { connectAt } from './open-session.ts';
import { type LongWork, runSession } from './realtime-session.ts';
import type { RealtimeServices } from './services.ts';
import { type EndListener, type SessionEnd, SocketEnd } from './socket-end.ts';

export interface OfferedCall extends SessionCall {
  /** The caller's offer (RFC 8866). */
  sdp: string;
  /** Path of this server, as the caller sees it. */
  basePath: string;
}

const answerBytesMax = 256 * 1024;
/** A provider may know the call by its id a moment after its answer; a call that cannot be watched is ended. */
const watchWithinMs = 10_000;
const watchAgainMs = 500;

/**
 * WebRTC's signalling: the provider answers the caller's offer, and sound goes between the two alone. Culvert watches
 * the call by a second connection to it, meters its responses, and hangs up where a session over a WebSocket would be
 * closed. Resolves when the call is over.
 */
export async function placeCall(services: RealtimeServices, offeredCall: OfferedCall): Promise<void> {
  const offered = await ruledSession(services, offeredCall);
  if (offered === null) return;
  const { call, model, sdp, settings, ending, errorEvent } = offered;
  const alias = services.snapshots.current.models.resolve(model, call.principal);
  // `holdSession` refuses a model that does not exist.
  const wrong = isFailure(alias) ? null : (notRealtime(alias) ?? noCalls(alias));
  if (wrong !== null) return refuse(call.sink, wrong, call.admitted.headers);
  const reach = (attempt: RouteAttempt, to: ConfiguredProvider, signal: AbortSignal) =>
    offerTo(services, attempt, to, { sdp, settings: settings ?? {}, signal });
  await holdSession(
    services,
    offered,
    ({ calls }) => calls !== undefined,
    reach,
    async (held) => {
      const { reached, attempt, to, headers, snapshot } = held;
      const shutdown = new AbortController();
      const stop = () => shutdown.abort();
      const watching: LongWork = { drain: stop, cut: stop };
      try {
        const ourHeaders = [
          'content-type',
          'application/sdp',
          'location',
          `${offeredCall.basePath}/v1/realtime/calls/${reached.id}`,
        ];
        sendWhole(call.sink, [...headers, ...ourHeaders], reached.sdp, 201);
        ending.add(watching);
        const seen = watch(services, attempt, to, { id: reached.id, call, cut: shutdown.signal });
        const socket = await seen.finally(() => ending.remove(watching));
        if (socket === null) return;
        const { idle: idleMs, longest: longestMs } = snapshot.config.server.realtime;
        const ends = { caller: new AbsentEnd(), upstream: new SocketEnd(socket), turns: responseTurns };
        const { clock } = services;
        await runSession({ clock, ...ends, meter: held.meter(), idleMs, longestMs, ending, errorEvent });
      } finally {
        // Nobody would pay for its conversation. A call that is over already is unknown there.
        await post(services, attempt, to, { path: `/${reached.id}/hangup`, contentType: null, body: null }).catch(
          () => null,
        );
      }
    },
  );
}

/** The refusal of a model that talks over several models here: nobody at a provider could take the call. */
function noCalls({ id, realtime }: Pick<Alias, 'id' | 'realtime'>): Failure | null {
  if (realtime === undefined) return null;
  return invalid('model', `The model '${id}' takes no WebRTC. Open a WebSocket at /v1/realtime, or use another model.`);
}

/** The caller of a call, who talks to the provider directly. */
class AbsentEnd implements SessionEnd {
  #listener: EndListener | null = null;

  listen(listener: EndListener): void {
    this.#listener = listener;
  }

  send(): 'ready' {
    return 'ready';
  }

  pause(): void {}

  resume(): void {}

  close(code: number): void {
    const listener = this.#listener;
    this.#listener = null;
    queueMicrotask(() => listener?.closed(code, ''));
  }

  terminate(): void {
    this.close(1006);
  }
}

async function offerTo(
  services: RealtimeServices,
  attempt: RouteAttempt,
  to: ConfiguredProvider,
  { sdp, settings, signal }: { sdp: string; settings: JsonObject; signal: AbortSignal },
): Promise<{ kind: 'reached'; value: { sdp: string; id: string } } | { kind: 'missed'; fault: Fault }> {
  const missed = (why: Fault) => ({ kind: 'missed' as const, fault: why });
  const session = JSON.stringify({ type: 'realtime', ...settings, model: attempt.target.model });
  const fields = [
    { name: 'sdp', value: sdp },
    { name: 'session', value: session },
  ];
  const { contentType, ...body } = formUpload(fields, []);
  try {
    const answer = await post(services, attempt, to, { path: '', contentType, body, signal });
    const { status, headers, bytes } = answer;
    if (status < 200 || status > 299) {
      return missed(statusFault({ status, headers, body: bytes }, openAiChat, to.connection, services.clock.wallMs()));
    }
    const id = /\/calls\/([\w-]{1,200})$/.exec(headers.get('location') ?? '')?.[1];
    if (id === undefined) return missed(fault('malformed', 'did not return the id of the call', status));
    return { kind: 'reached', value: { sdp: bytes.toString('utf8'), id } };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    if (signal.aborted) return missed(signal.reason as Fault);
    return missed(fault(error.kind === 'not-authorized' ? 'bad_credential' : 'unreachable', error.message));
  }
}

/** A request below the provider's calls. */
function post(
  { transport }: Pick<RealtimeServices, 'transport'>,
  { target, credential }: RouteAttempt,
  { connection }: ConfiguredProvider,
  request: { path: string; contentType: string | null; body: UpstreamUpload | null; signal?: AbortSignal },
) {
  const { origin, route, basePath, credentials, provider } = connection;
  const { get, authorize } = knownEntry(credentials, credential.id);
  const headers = get.map((value, at) => (get[at - 1] === 'accept' && at % 2 === 1 ? '*/*' : value));
  if (request.contentType !== null) headers.push('content-type', request.contentType);
  const path = basePath + provider.realtime!.calls!.path + request.path;
  const { connectMs, firstTokenMs } = target.timeouts;
  const late = AbortSignal.timeout(firstTokenMs);
  return wholeAnswer(
    transport,
    { origin, route, path, method: 'POST', headers, authorize, body: request.body },
    {
      connectTimeoutMs: connectMs,
      bytesMax: answerBytesMax,
      deadline: request.signal === undefined ? late : AbortSignal.any([late, request.signal]),
    },
  );
}

/** A connection on which the provider tells the events of a call; null: it could not be had in time. */
async function watch(
  services: RealtimeServices,
  attempt: RouteAttempt,
  to: ConfiguredProvider,
  { id, call, cut }: { id: string; call: SessionCall['call']; cut: AbortSignal },
): Promise<WebSocket | null> {
  const { clock } = services;
  const { connection } = to;
  const path = `${connection.basePath}${connection.provider.realtime!.calls!.socket}?call_id=${id}`;
  const untilMs = clock.monotonicMs() + watchWithinMs;
  while (!cut.aborted) {
    const outcome = await connectAt(services, attempt, to, { path, callerHeaders: call.callerHeaders, signal: cut });
    if (outcome.kind === 'reached') return outcome.value.socket;
    if (clock.monotonicMs() > untilMs) return null;
    await rest(watchAgainMs);
  }
  return null;
}
