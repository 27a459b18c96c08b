import { createResampler, type Resampler } from '../../../engines/audio/resample.ts';
import { readSamples, toS16le } from '../../../engines/audio/wav.ts';
import { eventIn, type Frame, messageIn } from '../../../formats/media/realtime/events.ts';
import { LiveCaller } from '../../../formats/media/realtime/live-caller.ts';
import { type LiveSetup, liveSetupOf } from '../../../formats/media/realtime/live-session.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { BufferedAnswer } from '../../spine/buffered-answer.ts';
import type { Pace } from '../../spine/sink.ts';
import { firstMessage } from './first-message.ts';
import { openSession } from './open-session.ts';
import type { UnnamedCall } from './open-transcription.ts';
import type { RealtimeServices } from './services.ts';
import type { EndListener, SessionEnd, SocketEnd } from './socket-end.ts';
import { sampleRateHz } from './speech-detector.ts';

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

/** The caller's end of a session that speaks Gemini's Live API: its messages outside, OpenAI's events in the session. */
class LiveCallerEnd implements SessionEnd {
  readonly #socket: SessionEnd;
  readonly #live: LiveCaller;
  #listener: EndListener | null = null;
  #pace: Pace = 'ready';
  /** Conversion of the caller's sound; null: it comes at the session's own rate, or none has come. */
  #resampling: { rateHz: number; resampler: Resampler } | null = null;
  #isSetUp = false;
  #isFailed = false;

  constructor(socket: SessionEnd, setup: LiveSetup) {
    this.#socket = socket;
    this.#live = new LiveCaller(setup, {
      up: (event) => this.#listener?.frame(JSON.stringify(event), false),
      down: (message) => {
        this.#pace = socket.send(JSON.stringify(message));
      },
      sound: (base64, rateHz) => this.#sound(base64, rateHz),
      fail: (message) => this.#fail(message),
    });
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    this.#socket.listen({
      frame: (frame) => {
        // The setup, which has been read already, comes again for the session.
        if (!this.#isSetUp) {
          this.#isSetUp = true;
          return this.#live.begin();
        }
        const message = messageIn(frame);
        if (message === null) this.#fail('The message is not a JSON object.');
        else if (!this.#isFailed) this.#live.fromCaller(message);
      },
      drained: () => {
        this.#pace = 'ready';
        listener.drained();
      },
      closed: (code, reason) => listener.closed(code, reason),
    });
  }

  send(frame: Frame): Pace {
    const event = eventIn(frame);
    if (event !== null && !this.#isFailed) this.#live.fromSession(event);
    return this.#pace;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #fail(message: string): void {
    if (this.#isFailed) return;
    this.#isFailed = true;
    this.#socket.close(closeCodeOfFailure, message);
  }

  #sound(base64: string, rateHz: number): string {
    if (rateHz === sampleRateHz) return base64;
    if (this.#resampling?.rateHz !== rateHz) {
      this.#resampling = { rateHz, resampler: createResampler(rateHz, sampleRateHz) };
    }
    const bytes = Buffer.from(base64, 'base64');
    const samples = readSamples(bytes.subarray(0, bytes.length - (bytes.length % 2)), { encoding: 's16', channels: 1 });
    return toS16le(this.#resampling.resampler.push(samples)).toString('base64');
  }
}

/** The code by which Google closes a session whose caller sent something wrong. */
const closeCodeOfFailure = 1007;
