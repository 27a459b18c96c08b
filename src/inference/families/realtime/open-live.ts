import { messageIn } from '../../../formats/media/realtime/events.ts';
import { type LiveSetup, liveSetupOf } from '../../../formats/media/realtime/live-session.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { BufferedAnswer } from '../../spine/buffered-answer.ts';
import { firstMessage } from './first-message.ts';
import { LiveCallerEnd } from './live-caller-end.ts';
import { openSession } from './open-session.ts';
import type { UnnamedCall } from './open-transcription.ts';
import type { RealtimeServices } from './services.ts';
import type { SocketEnd } from './socket-end.ts';

/**
 * A session of Gemini's Live API: the caller's connection becomes a WebSocket at once, and its first message names the
 * model and the settings. A refusal closes it with its reason, as Google's do. Resolves when the session is over.
 */
export async function openLive(services: RealtimeServices, unnamed: UnnamedCall): Promise<void> {
  const { call } = unnamed;
  const { message_limit: messageBytesMax, idle: idleMs } = services.snapshots.current.config.server.realtime;
  const caller = await unnamed.accept(call.admitted.headers, messageBytesMax);
  if (caller === null) return;
  const setup = await setupOf(caller, unnamed, idleMs);
  if (setup === null) return;
  const answer = new BufferedAnswer();
  await openSession(services, {
    ...unnamed,
    call: { ...call, delivery: answer, client: answer, sink: answer },
    model: setup.model,
    settings: null,
    kind: 'realtime',
    created: 'untold',
    accept: () => Promise.resolve(new LiveCallerEnd(caller, setup)),
  });
  if (answer.outcome?.kind !== 'refused') return;
  caller.close(1008, factsOf(answer.outcome.failure, services.clock.wallMs()).message);
}

/** Null: it has left, sent something else, or was silent for too long. */
function setupOf(caller: SocketEnd, { ending }: UnnamedCall, idleMs: number): Promise<LiveSetup | null> {
  return firstMessage(caller, {
    ending,
    idleMs,
    onIdle: () => caller.close(1000, 'No setup message came in time (server.realtime.idle).'),
    read(frame) {
      const message = messageIn(frame);
      const setup = message === null ? null : liveSetupOf(message);
      if (setup === null) caller.close(1007, 'The first message must be setup, with the name of a model.');
      return setup;
    },
  });
}
