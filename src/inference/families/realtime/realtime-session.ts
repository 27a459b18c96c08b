import { eventIn, type Frame, mayBe, type RealtimeEvent } from '../../../formats/media/realtime/events.ts';
import { transcriberIn } from '../../../formats/media/realtime/session-settings.ts';
import { type TurnEvents, writtenDownUsage } from '../../../formats/media/realtime/turn-events.ts';
import { type ScrubKnown, scrub, withoutKnown } from '../../../formats/providers/scrub.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { jsonText } from '../../../kernel/json.ts';
import { relayBegins } from '../../../kernel/threads/old-generation.ts';
import type { SessionEnd } from './socket-end.ts';
import type { TurnMeter } from './turn-meter.ts';

/** Work that goes on after its answer, for the shutdown of the server. */
export interface LongWork {
  /** It comes to its end soon. */
  drain(): void;
  /** It ends now. */
  cut(): void;
}

/** All of it. Not an abort signal, which looks through its listeners for each new one. */
export class Ending {
  #state: 'open' | 'draining' | 'cut' = 'open';
  readonly #works = new Set<LongWork>();

  /** Ended at once where the server shuts down already. */
  add(work: LongWork): void {
    this.#works.add(work);
    if (this.#state !== 'open') work.drain();
    if (this.#state === 'cut') work.cut();
  }

  remove(work: LongWork): void {
    this.#works.delete(work);
  }

  drain(): void {
    this.#state = 'draining';
    for (const work of [...this.#works]) work.drain();
  }

  cut(): void {
    this.#state = 'cut';
    for (const work of [...this.#works]) work.cut();
  }
}

export interface SessionParts {
  clock: Clock;
  caller: SessionEnd;
  /** The upstream's end, in OpenAI's events. */
  upstream: SessionEnd;
  /** Null: each call of the steps behind it is metered. */
  meter: TurnMeter | null;
  turns: TurnEvents;
  idleMs: number;
  longestMs: number;
  ending: Ending;
  /** Secrets that no message of the upstream may show; absent: nobody outside answers. */
  known?: ScrubKnown;
  errorEvent(failure: Failure): RealtimeEvent;
}

/** How long a response or a transcript that the caller has left may take to say what it used. */
const lastWordMs = 2_000;
const shuttingDown = 'The server is shutting down. Connect again.';
/** RFC 6455 §7.4.1. */
const closeCode = { normal: 1000, goingAway: 1001, policy: 1008, internal: 1011 } as const;

/**
 * Passes the messages of a session both ways until either end closes, and closes the other one then. A response is
 * begun only when what it costs is held. Resolves when both ends are closed and everything is settled.
 */
export function runSession(parts: SessionParts): Promise<void> {
  return new Promise((resolve, reject) =>
    new Session(parts, (rest) => void (parts.meter?.end(rest) ?? Promise.resolve()).then(resolve, reject)).begin(),
  );
}

class Session implements LongWork {
  readonly #parts: SessionParts;
  readonly #ended: (rest: 'cancelled' | 'failed') => void;
  readonly #idle: NodeJS.Timeout;
  readonly #longest: NodeJS.Timeout;
  /** The caller's, while one of them waits for its reservation; null: none does. */
  #waiting: { frame: Frame; binary: boolean }[] | null = null;
  #state: 'open' | 'draining' | 'closing' = 'open';
  #rest: 'cancelled' | 'failed' = 'cancelled';
  #lastWord: NodeJS.Timeout | null = null;
  #open = { caller: true, upstream: true };
  /** How the upstream is to be closed, once it has sent its last word. */
  #upstreamClose: { code: number; reason: string } | null = null;
  /** Responses that run, and those of which nothing has come yet. */
  readonly #active = new Set<string>();
  readonly #silent = new Set<string>();
  /** Model that the provider writes down the caller's speech with; null: none. */
  #transcriber: string | null = null;
  /** Items of the caller's speech that the provider writes down still, each with its model. */
  readonly #unwritten = new Map<string, string>();
  readonly #relayEnds = relayBegins();

  /** `ended` gets how the responses end that still run. */
  constructor(parts: SessionParts, ended: (rest: 'cancelled' | 'failed') => void) {
    this.#parts = parts;
    this.#ended = ended;
    const { idleMs, longestMs } = parts;
    this.#idle = setTimeout(() => this.#expire('idle', idleMs), idleMs);
    this.#longest = setTimeout(() => this.#expire('longest', longestMs), longestMs);
  }

  begin(): void {
    const { caller, upstream, ending } = this.#parts;
    // First: what the caller has sent already is answered at once.
    upstream.listen({
      frame: (frame, binary) => this.#guarded(() => this.#fromUpstream(frame, binary)),
      drained: () => this.#resumeCaller(),
      closed: (code, reason) => this.#upstreamClosed(code, reason),
    });
    caller.listen({
      frame: (frame, binary) => this.#guarded(() => this.#fromCaller(frame, binary)),
      drained: () => upstream.resume(),
      closed: (code, reason) => this.#callerClosed(code, reason),
    });
    ending.add(this);
  }

  #fromCaller(frame: Frame, binary: boolean): void {
    this.#idle.refresh();
    if (this.#state === 'closing') return;
    if (this.#waiting !== null) {
      this.#waiting.push({ frame, binary });
      return;
    }
    const { meter, turns, caller, upstream } = this.#parts;
    if (meter !== null && mayBe(frame, turns.requests) && eventIn(frame)?.type === turns.requests) {
      const reserving = meter.requested();
      if (reserving !== null) return this.#wait(reserving, frame, binary);
    }
    if (upstream.send(frame, binary) === 'behind') caller.pause();
  }

  /** Nothing of the caller's goes on before this frame does. */
  #wait(reserving: Promise<Failure | null>, frame: Frame, binary: boolean): void {
    const { caller, upstream } = this.#parts;
    this.#waiting = [];
    caller.pause();
    reserving.then((failure) => {
      const waited = this.#waiting ?? [];
      this.#waiting = null;
      if (failure !== null) return this.#refuse(failure);
      if (this.#state === 'closing') return;
      const pace = upstream.send(frame, binary);
      for (const one of waited) this.#fromCaller(one.frame, one.binary);
      if (pace === 'ready') this.#resumeCaller();
    }, this.#crash);
  }

  #resumeCaller(): void {
    if (this.#waiting === null) this.#parts.caller.resume();
  }

  #fromUpstream(frame: Frame, binary: boolean): void {
    this.#idle.refresh();
    const { caller, upstream } = this.#parts;
    const isDone = this.#watch(frame);
    if (this.#open.caller && caller.send(this.#withoutSecrets(frame), binary) === 'behind') upstream.pause();
    if (!isDone || this.#active.size > 0) return;
    if (this.#upstreamClose === null) {
      if (this.#state === 'draining') this.#leave();
    } else if (this.#unwritten.size === 0) this.#closeUpstream();
  }

  /** A provider that tells of a wrong key may repeat it. */
  #withoutSecrets(frame: Frame): Frame {
    const { known } = this.#parts;
    if (known === undefined || !known.secrets.some((secret) => frame.includes(secret))) return frame;
    return withoutKnown(frame.toString(), known);
  }

  /** Whether a turn, or the transcript of the caller's speech, ends with this frame. */
  #watch(frame: Frame): boolean {
    const { turns } = this.#parts;
    const isWritten = this.#noteTranscription(frame);
    // Callers' texts come back in events, and may be such words.
    const isSign = mayBe(frame, turns.begins) || turns.ends.some((type) => mayBe(frame, type));
    const event = isSign ? eventIn(frame) : null;
    if (event !== null && turns.ends.includes(event.type)) return this.#done(event);
    if (event?.type === turns.begins) {
      const id = turns.idIn(event);
      if (id !== null) this.#begun(id);
    } else if (this.#silent.size > 0 && frame.includes('.delta"')) {
      for (const id of this.#silent) this.#parts.meter?.content(id);
      this.#silent.clear();
    }
    return isWritten;
  }

  /**
   * Charges what the provider used to write down the caller's speech, by the model that the session's settings name. True:
   * this frame ends it.
   */
  #noteTranscription(frame: Frame): boolean {
    const { meter, turns } = this.#parts;
    const { writtenDown } = turns;
    if (meter === null || writtenDown === null) return false;
    const isSign = [writtenDown.begins, ...writtenDown.ends].some((type) => mayBe(frame, type));
    const event = isSign || frame.includes('"session.') ? eventIn(frame) : null;
    if (event === null) return false;
    if (event.type === 'session.created' || event.type === 'session.updated') {
      const named = transcriberIn(event.session);
      if (named !== undefined) this.#transcriber = named;
    }
    const item = jsonText(event.item_id);
    if (event.type === writtenDown.begins && this.#transcriber !== null) this.#unwritten.set(item, this.#transcriber);
    if (!writtenDown.ends.includes(event.type)) return false;
    const model = this.#unwritten.get(item) ?? this.#transcriber;
    this.#unwritten.delete(item);
    const usage = writtenDownUsage(event);
    if (usage === null) return true;
    meter.writtenDown(model, usage).then((failure) => {
      if (failure !== null) this.#refuse(failure);
    }, this.#crash);
    return true;
  }

  #begun(id: string): void {
    this.#active.add(id);
    this.#silent.add(id);
    this.#parts.meter?.begun(id)?.then((failure) => {
      if (failure !== null) this.#refuse(failure);
    }, this.#crash);
  }

  #done(event: RealtimeEvent): boolean {
    const { turns, meter } = this.#parts;
    const id = turns.idIn(event);
    if (id === null) return false;
    this.#active.delete(id);
    this.#silent.delete(id);
    meter?.done(id, turns.endIn(event));
    return true;
  }

  /** Tells the caller why the session ends here. */
  #refuse(failure: Failure): void {
    if (this.#state === 'closing') return;
    const { caller, errorEvent } = this.#parts;
    const event = errorEvent(failure);
    caller.send(JSON.stringify(event));
    this.#close(closeCode.policy, failure.kind);
  }

  /** Catches what a listener of a socket throws, which would leave the session hanging: its socket reads no further. */
  #guarded(take: () => void): void {
    try {
      take();
    } catch {
      this.#crash();
    }
  }

  /** A reservation that fails by a fault of ours is a refusal, which says no more. */
  readonly #crash = (): void => this.#refuse({ kind: 'internal' });

  #expire(what: 'idle' | 'longest', ms: number): void {
    const seconds = ms / 1_000;
    const message =
      what === 'idle'
        ? `Nothing was sent in this session for ${seconds} s (server.realtime.idle).`
        : `The session has lasted for ${seconds} s, which is the longest (server.realtime.longest).`;
    if (this.#state === 'closing') return;
    const event = this.#parts.errorEvent({ kind: 'request-timeout', message });
    this.#parts.caller.send(JSON.stringify(event));
    this.#close(closeCode.normal, 'session expired');
  }

  cut(): void {
    // Its close frame goes out with what is written before the end.
    if (this.#state !== 'closing') this.#parts.caller.close(closeCode.goingAway, shuttingDown);
    this.#state = 'closing';
    this.#parts.caller.terminate();
    this.#parts.upstream.terminate();
  }

  drain(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    if (this.#active.size === 0) this.#leave();
  }

  #leave(): void {
    this.#close(closeCode.goingAway, shuttingDown);
  }

  #close(code: number, reason: string): void {
    this.#state = 'closing';
    this.#parts.caller.close(code, reason);
    this.#endUpstream(closeCode.normal, '');
  }

  #callerClosed(code: number, reason: string): void {
    this.#open.caller = false;
    this.#state = 'closing';
    this.#endUpstream(code, reason);
    this.#endWhenClosed();
  }

  /** A running response is cancelled first, so that it tells what it used, and speech is written down to its end. */
  #endUpstream(code: number, reason: string): void {
    if (!this.#open.upstream || this.#upstreamClose !== null) return;
    this.#upstreamClose = { code, reason };
    const { upstream, meter, turns } = this.#parts;
    upstream.resume();
    if (this.#active.size + this.#unwritten.size === 0 || meter === null) return this.#closeUpstream();
    for (const id of this.#active) {
      const cancel = turns.cancel(id);
      if (cancel !== null) upstream.send(JSON.stringify(cancel));
    }
    this.#lastWord = setTimeout(() => this.#closeUpstream(), lastWordMs);
  }

  #closeUpstream(): void {
    if (this.#lastWord !== null) clearTimeout(this.#lastWord);
    const { code, reason } = this.#upstreamClose!;
    this.#parts.upstream.close(code, reason);
  }

  #upstreamClosed(code: number, reason: string): void {
    this.#open.upstream = false;
    const { caller, errorEvent, known } = this.#parts;
    if (this.#state !== 'closing') {
      this.#state = 'closing';
      this.#rest = 'failed';
      if (code === 1006) {
        const message = 'The connection to the provider broke. Open a new session.';
        caller.send(JSON.stringify(errorEvent({ kind: 'overloaded', message })));
        caller.close(closeCode.internal, message);
      } else caller.close(code === 1005 ? closeCode.normal : code, known === undefined ? reason : scrub(reason, known));
    }
    this.#endWhenClosed();
  }

  #endWhenClosed(): void {
    if (this.#open.caller || this.#open.upstream) return;
    clearTimeout(this.#idle);
    clearTimeout(this.#longest);
    if (this.#lastWord !== null) clearTimeout(this.#lastWord);
    this.#parts.ending.remove(this);
    this.#relayEnds();
    this.#ended(this.#rest);
  }
}
