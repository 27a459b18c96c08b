import { mimeOfSpeech } from '../../../engines/audio/audio-format.ts';
import type { AudioFormat, SpeechRequest } from '../../../formats/neutral/speech.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import type { Answer, AnswerFacts } from '../../spine/answer.ts';
import type { Pace } from '../../spine/sink.ts';

/** Outlet of audio to the client, in the requested form. */
export interface SoundOutlet {
  /** `lost`: another attempt answers. */
  write(sound: Buffer): Pace | 'lost' | 'too long';
  /** Nothing is missing. `source`: whether the service reported the usage, or it is our estimate. */
  end(usage: Usage, source: 'upstream' | 'counted'): 'sent' | 'lost';
}

/** Sound that is kept whole, for an answer in one piece. */
const wholeSoundBytesMax = 64 * 1024 * 1024;

/**
 * `facts` is called when the first bytes go out. `whole`: in one piece, which may be kept for a repeat of the request.
 */
export function createSoundOutlet(
  answer: Answer,
  request: Pick<SpeechRequest, 'delivery' | 'format'>,
  form: 'streamed' | 'whole',
  facts: () => AnswerFacts,
): SoundOutlet {
  if (request.delivery === 'events') return new EventOutlet(answer, facts);
  const typed = () => ({ ...facts(), answerType: mimeOfSpeech[request.format as AudioFormat] });
  return form === 'whole' ? new WholeOutlet(answer, typed) : new StreamOutlet(answer, typed);
}

class StreamOutlet implements SoundOutlet {
  protected readonly form: 'bytes' | 'events' = 'bytes';
  protected readonly answer: Answer;
  readonly #facts: () => AnswerFacts;
  #started = false;

  constructor(answer: Answer, facts: () => AnswerFacts) {
    this.answer = answer;
    this.#facts = facts;
  }

  write(sound: Buffer): Pace | 'lost' {
    return this.begun() ? this.answer.chunk(this.framed(sound)) : 'lost';
  }

  end(_usage: Usage, _source: 'upstream' | 'counted'): 'sent' | 'lost' {
    if (!this.begun()) return 'lost';
    this.answer.end();
    return 'sent';
  }

  protected begun(): boolean {
    this.#started ||= this.answer.begin(this.form, this.#facts());
    return this.#started;
  }

  protected framed(sound: Buffer): Buffer | string {
    return sound;
  }
}

class EventOutlet extends StreamOutlet {
  protected override readonly form = 'events';

  protected override framed(sound: Buffer): string {
    return frame({ type: 'speech.audio.delta', audio: sound.toString('base64') });
  }

  override end({ inputTokens, outputTokens }: Usage, source: 'upstream' | 'counted'): 'sent' | 'lost' {
    if (!this.begun()) return 'lost';
    const usage = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      // OpenAI's clients demand the numbers, and services that charge by characters tell none.
      ...(source === 'counted' && { estimated: true }),
    };
    this.answer.chunk(frame({ type: 'speech.audio.done', usage }));
    this.answer.end();
    return 'sent';
  }
}

class WholeOutlet implements SoundOutlet {
  readonly #answer: Answer;
  readonly #facts: () => AnswerFacts;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(answer: Answer, facts: () => AnswerFacts) {
    this.#answer = answer;
    this.#facts = facts;
  }

  write(sound: Buffer): Pace | 'too long' {
    this.#bytes += sound.length;
    if (this.#bytes > wholeSoundBytesMax) return 'too long';
    this.#pieces.push(sound);
    return 'ready';
  }

  end(): 'sent' | 'lost' {
    if (!this.#answer.begin('whole', this.#facts())) return 'lost';
    this.#answer.chunk(Buffer.concat(this.#pieces, this.#bytes));
    this.#answer.end();
    return 'sent';
  }
}

function frame(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
