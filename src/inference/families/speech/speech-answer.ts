import { mimeOfSpeech } from '../../../engines/audio/audio-format.ts';
import type { SharedTranscoder } from '../../../engines/audio/transcode.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { AudioFormat, SpeechRequest } from '../../../formats/neutral/speech.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import { type Answer, type AnswerFacts, answeredElsewhere } from '../../spine/answer.ts';
import type { AttemptSeen } from '../../spine/attempts/trial.ts';
import type { AttemptSink, AttemptSource, Pace } from '../../spine/sink.ts';
import { createSoundWay, type SoundWay } from './sound-way.ts';
import { conversionOf, type SpeechPlan } from './speech-way.ts';

/** Largest size of one answer: hours of speech. An answer beyond it never ends. */
const soundBytesMax = 512 * 1024 * 1024;

/** Format of audio. `rateHz` null: as the format says. */
export interface SoundForm {
  format: AudioFormat;
  rateHz: number | null;
}

export interface SpeechAnswerParts {
  transcoder: SharedTranscoder;
  tenant: string;
  request: SpeechRequest;
  plan: SpeechPlan;
  /** `whole`: in one piece, which may be kept for a repeat of the request. */
  form: 'streamed' | 'whole';
  /** Format of the received audio, as far as it is known. */
  came(): SoundForm;
  /** Reported usage; null: the service does not report it. */
  reportedUsage(): Usage | null;
  /** For a service that does not tell. */
  inputTokensEstimate: number;
}

/**
 * The answer to a request for speech: takes audio as it is made, converts it if necessary, and gives it out. A break
 * after that is a reset, never a short file.
 */
export class SpeechAnswer implements AttemptSink {
  losses: readonly Loss[];
  readonly #parts: SpeechAnswerParts;
  readonly #answer: Answer;
  readonly #outlet: SoundOutlet;
  #source: AttemptSource | null = null;
  /** The way that sound of the opened kind takes. */
  #way: SoundWay | null = null;
  #opened: SoundForm | null = null;
  #fault: Fault | null = null;
  #bytesOut = 0;

  constructor(answer: Answer, parts: SpeechAnswerParts) {
    this.#answer = answer;
    this.#parts = parts;
    this.losses = parts.plan.losses;
    const facts = () => ({ losses: this.losses, answer: 'converted' as const });
    this.#outlet = createSoundOutlet(answer, parts.request, parts.form, facts);
  }

  start(source: AttemptSource): void {
    this.#source = source;
    this.#answer.onDrain(() => this.#way?.readerDrained());
  }

  /** Before the first sound, so that a converter is there when it comes. */
  open(from: SoundForm): void {
    const { request, plan, transcoder, tenant } = this.#parts;
    this.#opened = from;
    this.#way = createSoundWay(conversionOf(from, request.format, plan.tempo), {
      transcoder: transcoder.of(tenant),
      out: (sound) => this.#out(sound) === 'ready',
      onDrain: () => this.#source?.resume(),
      onFault: (found) => this.#break(found),
    });
  }

  content(): boolean {
    this.#answer.noteFirst();
    return true;
  }

  chunk(sound: Buffer): Pace {
    if (this.#fault !== null) return 'ready';
    const came = this.#parts.came();
    const { format, rateHz } = this.#opened!;
    // Believe what came: some servers have one format only.
    if (came.format !== format || (came.rateHz !== null && came.rateHz !== rateHz)) {
      this.#way!.stop();
      this.open(came);
    }
    return this.#way!.write(sound) ? 'ready' : 'behind';
  }

  async end(found: Fault | null): Promise<Fault | null> {
    this.#fault ??= found;
    // Audio that is still being converted when all was spoken.
    const unconverted = this.#fault === null ? await this.#way?.end() : null;
    this.#fault ??= unconverted ?? null;
    if (this.#fault === null && this.#outlet.end(this.usage(), this.#usageSource) === 'lost')
      this.#fault = answeredElsewhere();
    this.#way?.stop();
    return this.#fault;
  }

  /** Nobody wants it any more. */
  stop(why: Fault): void {
    this.#fault ??= why;
    this.#way?.stop();
  }

  usage(): Usage {
    const { request, reportedUsage, inputTokensEstimate } = this.#parts;
    const { inputTokens, outputTokens } = reportedUsage() ?? { inputTokens: inputTokensEstimate, outputTokens: 0 };
    return { inputTokens, outputTokens, characters: request.characters };
  }

  /** `ran`: it may have cost something. */
  seen(served: boolean, ran: boolean): Pick<AttemptSeen, 'usage' | 'usageSource'> {
    if (!served && !ran) return { usage: null, usageSource: 'none' };
    return { usage: this.usage(), usageSource: served ? this.#usageSource : 'abandoned' };
  }

  get #usageSource(): 'upstream' | 'counted' {
    return this.#parts.reportedUsage() === null ? 'counted' : 'upstream';
  }

  #out(sound: Buffer): Pace {
    if (this.#fault !== null) return 'ready';
    this.#bytesOut += sound.length;
    if (this.#bytesOut > soundBytesMax) return this.#break(fault('malformed', 'sent over 512 MB of audio'));
    const pace = this.#outlet.write(sound);
    if (pace === 'lost') return this.#break(answeredElsewhere());
    if (pace !== 'too long') return pace;
    return this.#break(fault('malformed', 'sent more audio than a reply in one piece may hold'));
  }

  #break(found: Fault): 'ready' {
    this.stop(found);
    this.#source?.stop(found);
    return 'ready';
  }
}

/** Outlet of audio to the client, in the requested form. */
interface SoundOutlet {
  /** `lost`: another attempt answers. */
  write(sound: Buffer): Pace | 'lost' | 'too long';
  /** Nothing is missing. `source`: whether the service reported the usage, or it is our estimate. */
  end(usage: Usage, source: 'upstream' | 'counted'): 'sent' | 'lost';
}

/** Sound that is kept whole, for an answer in one piece. */
const wholeSoundBytesMax = 64 * 1024 * 1024;

/** `facts` is called when the first bytes go out. `whole`: in one piece, which may be kept for a repeat. */
function createSoundOutlet(
  answer: Answer,
  request: Pick<SpeechRequest, 'delivery' | 'format'>,
  form: 'streamed' | 'whole',
  facts: () => AnswerFacts,
): SoundOutlet {
  if (request.delivery === 'events') return streamOutlet(answer, 'events', facts);
  const typed = () => ({ ...facts(), answerType: mimeOfSpeech[request.format as AudioFormat] });
  return form === 'whole' ? wholeOutlet(answer, typed) : streamOutlet(answer, 'bytes', typed);
}

function streamOutlet(answer: Answer, form: 'bytes' | 'events', facts: () => AnswerFacts): SoundOutlet {
  let started = false;
  const begun = () => {
    started ||= answer.begin(form, facts());
    return started;
  };
  return {
    write(sound) {
      if (!begun()) return 'lost';
      if (form === 'bytes') return answer.chunk(sound);
      return answer.chunk(frame({ type: 'speech.audio.delta', audio: sound.toString('base64') }));
    },
    end(usage, source) {
      if (!begun()) return 'lost';
      if (form === 'events') answer.chunk(doneFrame(usage, source));
      answer.end();
      return 'sent';
    },
  };
}

function wholeOutlet(answer: Answer, facts: () => AnswerFacts): SoundOutlet {
  const pieces: Buffer[] = [];
  let bytes = 0;
  return {
    write(sound) {
      bytes += sound.length;
      if (bytes > wholeSoundBytesMax) return 'too long';
      pieces.push(sound);
      return 'ready';
    },
    end() {
      if (!answer.begin('whole', facts())) return 'lost';
      answer.chunk(Buffer.concat(pieces, bytes));
      answer.end();
      return 'sent';
    },
  };
}

function doneFrame({ inputTokens, outputTokens }: Usage, source: 'upstream' | 'counted'): string {
  const usage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    // OpenAI's clients demand the numbers, and services that charge by characters tell none.
    ...(source === 'counted' && { estimated: true }),
  };
  return frame({ type: 'speech.audio.done', usage });
}

function frame(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
