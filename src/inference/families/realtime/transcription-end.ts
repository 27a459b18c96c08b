import { eventIn, type Frame, mayBe, notAnEvent, type RealtimeEvent } from '../../../formats/media/realtime/events.ts';
import { transcriberIn, withTranscriptionModel } from '../../../formats/media/realtime/session-settings.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, objectIn } from '../../../kernel/json.ts';
import type { Pace } from '../../spine/sink.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';

export interface TranscriptionFacts {
  /** The model in the caller's name for it, and in the transcriber's. */
  model: { named: string; there: string };
  /** Whether the caller has its `session.created` already. */
  created: 'told' | 'untold';
  errorEvent(failure: Failure): RealtimeEvent;
}

/** Events that may name a model; the second is that of OpenAI's beta. */
export const updates = ['session.update', 'transcription_session.update'];

/** The end that transcribes. Callers name its model in their updates, which a session keeps. */
export class TranscriptionEnd implements SessionEnd {
  readonly #next: SessionEnd;
  readonly #facts: TranscriptionFacts;
  #listener: EndListener | null = null;
  #created: TranscriptionFacts['created'];

  constructor(next: SessionEnd, facts: TranscriptionFacts) {
    this.#next = next;
    this.#facts = facts;
    this.#created = facts.created;
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    this.#next.listen({
      frame: (frame, binary) => {
        if (this.#created === 'told' && eventIn(frame)?.type === 'session.created') this.#created = 'untold';
        else listener.frame(frame, binary);
      },
      drained: () => listener.drained(),
      closed: (code, reason) => listener.closed(code, reason),
    });
  }

  send(frame: Frame, binary?: boolean): Pace {
    if (!updates.some((type) => mayBe(frame, type))) return this.#next.send(frame, binary);
    const event = eventIn(frame);
    if (event === null) return this.#refuse(null, notAnEvent);
    if (!updates.includes(event.type) || !isObject(event.session)) return this.#next.send(frame, binary);
    const { model } = this.#facts;
    const { input_audio_transcription: earlier } = event.session;
    const inEarlier = isObject(earlier) ? (earlier.model ?? null) : null;
    const named = transcriberIn({ audio: event.session.audio }) ?? null;
    for (const one of [named, inEarlier]) {
      if (one === null || one === model.named) continue;
      const message = `The session transcribes with the model '${model.named}'. Open a new session for another one.`;
      return this.#refuse('session.audio.input.transcription.model', message);
    }
    const session = {
      ...(named === null ? event.session : withTranscriptionModel(event.session, model.there)),
      ...(inEarlier !== null && { input_audio_transcription: { ...objectIn(earlier), model: model.there } }),
    };
    return this.#next.send(JSON.stringify({ ...event, session }), binary);
  }

  #refuse(param: string | null, message: string): 'ready' {
    this.#listener?.frame(JSON.stringify(this.#facts.errorEvent(invalid(param, message))), false);
    return 'ready';
  }

  pause(): void {
    this.#next.pause();
  }

  resume(): void {
    this.#next.resume();
  }

  close(code: number, reason: string): void {
    this.#next.close(code, reason);
  }

  terminate(): void {
    this.#next.terminate();
  }
}
