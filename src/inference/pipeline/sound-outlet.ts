import { mimeOfSpeech } from '../audio/audio-format.ts';
import type { AudioFormat, SpeechRequest } from '../neutral/speech.ts';
import type { Usage } from '../neutral/usage.ts';
import type { Caller, HeaderList } from './caller.ts';

/** Where sound leaves to the caller, in the form in which it was asked for. */
export interface SoundOutlet {
  /** Something has gone out: no other attempt can replace this one. */
  readonly started: boolean;
  /** False: the reader is behind; wait for the caller's `onDrain`. */
  write(sound: Buffer): boolean;
  /** Nothing is missing. `source`: whether the service told the usage, or it is our estimate. */
  end(usage: Usage, source: 'upstream' | 'counted'): void;
}

/** Sound that is kept whole, for an answer in one piece. */
const wholeSoundBytesMax = 64 * 1024 * 1024;

/**
 * `headers` is asked when the first bytes go out. `whole`: in one piece, which may be kept for a repeat of the request.
 */
export function createSoundOutlet(
  caller: Caller,
  request: Pick<SpeechRequest, 'delivery' | 'format'>,
  form: 'streamed' | 'whole',
  headers: () => HeaderList,
): SoundOutlet {
  if (request.delivery === 'events') return new EventOutlet(caller, headers);
  const typed = () => ['content-type', mimeOfSpeech[request.format as AudioFormat], ...headers()];
  return form === 'whole' ? new WholeOutlet(caller, typed) : new StreamOutlet(caller, typed);
}

class StreamOutlet implements SoundOutlet {
  started = false;
  protected readonly caller: Caller;
  readonly #headers: () => HeaderList;

  constructor(caller: Caller, headers: () => HeaderList) {
    this.caller = caller;
    this.#headers = headers;
  }

  write(sound: Buffer | string): boolean {
    if (!this.started) {
      this.started = true;
      this.caller.startStream(this.#headers());
    }
    return this.caller.write(sound);
  }

  end(_usage: Usage, _source: 'upstream' | 'counted'): void {
    this.caller.endStream();
  }
}

class EventOutlet extends StreamOutlet {
  override write(sound: Buffer): boolean {
    return super.write(frame({ type: 'speech.audio.delta', audio: sound.toString('base64') }));
  }

  override end({ inputTokens, outputTokens }: Usage, source: 'upstream' | 'counted'): void {
    const usage = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      // OpenAI's clients demand the numbers, and services that charge by characters tell none.
      ...(source === 'counted' && { estimated: true }),
    };
    this.caller.write(frame({ type: 'speech.audio.done', usage }));
    this.caller.endStream();
  }
}

class WholeOutlet implements SoundOutlet {
  readonly started = false;
  readonly #caller: Caller;
  readonly #headers: () => HeaderList;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(caller: Caller, headers: () => HeaderList) {
    this.#caller = caller;
    this.#headers = headers;
  }

  write(sound: Buffer): boolean {
    this.#bytes += sound.length;
    if (this.#bytes > wholeSoundBytesMax) throw new SoundTooLong();
    this.#pieces.push(sound);
    return true;
  }

  end(): void {
    this.#caller.answer(200, this.#headers(), Buffer.concat(this.#pieces, this.#bytes));
  }
}

/** More than is kept for an answer in one piece. */
export class SoundTooLong extends Error {}

function frame(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
