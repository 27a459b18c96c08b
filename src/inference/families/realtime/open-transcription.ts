import { eventIn } from '../../../formats/media/realtime/events.ts';
import { EventWriter } from '../../../formats/media/realtime/response-writer.ts';
import { firstSettings, shownTranscriptions, transcriberIn } from '../../../formats/media/realtime/session-settings.ts';
import { invalid } from '../../../kernel/failure.ts';
import { randomBase62 } from '../../../kernel/ids.ts';
import { BufferedAnswer } from '../../spine/buffered-answer.ts';
import type { HeaderList } from '../../spine/sink.ts';
import { firstMessage } from './first-message.ts';
import { openSession, type SocketCall } from './open-session.ts';
import type { RealtimeServices } from './services.ts';
import type { SocketEnd } from './socket-end.ts';
import { updates } from './transcription-end.ts';

/** A caller that names its model only within its session. */
export interface UnnamedCall extends Omit<SocketCall, 'model' | 'settings' | 'kind' | 'created' | 'accept'> {
  accept(headers: HeaderList, messageBytesMax: number): Promise<SocketEnd | null>;
}

/**
 * The caller's connection becomes a WebSocket at once, and its first update names the model: only then is anything
 * reserved and the transcriber reached. A refusal is an `error` event and 1008. Resolves when the session is over.
 */
export async function openTranscription(services: RealtimeServices, unnamed: UnnamedCall): Promise<void> {
  const { call, errorEvent } = unnamed;
  const { message_limit: messageBytesMax, idle: idleMs } = services.snapshots.current.config.server.realtime;
  const caller = await unnamed.accept(call.admitted.headers, messageBytesMax);
  if (caller === null) return;
  const model = await modelNamedBy(caller, unnamed, idleMs);
  if (model === null) return;
  const answer = new BufferedAnswer();
  await openSession(services, {
    ...unnamed,
    call: { ...call, delivery: answer, client: answer, sink: answer },
    model,
    settings: null,
    kind: 'transcription',
    created: 'told',
    accept: () => Promise.resolve(caller),
  });
  if (answer.outcome?.kind !== 'refused') return;
  const { failure } = answer.outcome;
  caller.send(JSON.stringify(errorEvent(failure)));
  caller.close(1008, failure.kind);
}

/** Null: it has left without naming one, or was silent for too long. */
function modelNamedBy(caller: SocketEnd, { ending, errorEvent }: UnnamedCall, idleMs: number): Promise<string | null> {
  const named = firstMessage(caller, {
    ending,
    idleMs,
    onIdle() {
      const message = `Nobody named a model in this session for ${idleMs / 1_000} s (server.realtime.idle).`;
      caller.send(JSON.stringify(errorEvent({ kind: 'request-timeout', message })));
      caller.close(1000, 'session expired');
    },
    read(frame) {
      const event = eventIn(frame);
      const model = (event !== null && updates.includes(event.type) && transcriberIn(event.session)) || null;
      // A caller that reads no errors causes no more of them.
      if (model === null && caller.send(JSON.stringify(errorEvent(unnamedModel))) === 'behind') caller.pause();
      return model;
    },
  });
  const id = randomBase62(16);
  const events = new EventWriter('present', id, (event) => caller.send(JSON.stringify(event)));
  const session = shownTranscriptions(`sess_${id}`, null, firstSettings);
  events.write('session.created', { session });
  return named;
}

const unnamedModel = invalid(
  'session.audio.input.transcription.model',
  'Name the model first: send session.update with session.audio.input.transcription.model.',
);
