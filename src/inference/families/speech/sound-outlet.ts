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
