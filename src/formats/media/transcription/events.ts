import { parsedData } from '../../../kernel/json.ts';
import type { PassingFacts, PassingReader, PassingVerdict } from '../../dialects/dialect.ts';
import { faultInside } from '../../dialects/fault-inside.ts';
import { classOfError, readError } from '../../dialects/openai-chat/errors.ts';
import { fault } from '../../neutral/outcome.ts';
import { usageOf } from './openai.ts';

/** OpenAI's events: `transcript.text.delta` for each piece of text, one `transcript.text.done` with all of it. */
export function deltaEvent(text: string): string {
  return `data: ${JSON.stringify({ type: 'transcript.text.delta', delta: text })}\n\n`;
}

export function doneEvent(text: string, durationS: number | null): string {
  const usage = durationS === null ? {} : { usage: { type: 'duration', seconds: durationS } };
  return `data: ${JSON.stringify({ type: 'transcript.text.done', text, ...usage })}\n\n`;
}

/**
 * Pieces of a text whose segments come one by one: there are blanks only between two pieces, so that all together they
 * are the text without any at its ends.
 */
export class TextPieces {
  text = '';
  #blank = '';

  /** The part of the next segment to show; '' when there is nothing. */
  add(segment: string): string {
    const begun = this.text === '' ? segment.trimStart() : this.#blank + segment;
    const piece = begun.trimEnd();
    this.#blank = begun.slice(piece.length);
    this.text += piece;
    return piece;
  }
}

const content: PassingVerdict = { content: true, fault: null, usageOnly: false };
const aside: PassingVerdict = { content: false, fault: null, usageOnly: false };

/** Watches such events that are forwarded unchanged. */
export function readTranscriptEvents(): PassingReader {
  const seen: PassingFacts = { usage: null, terminal: false, outputTokensSeen: 0 };
  return {
    seen,
    step({ data }) {
      const event = parsedData(data);
      if (event === null) return aside;
      const error = event.type === 'error' || event.error !== undefined ? readError(event) : null;
      if (error !== null) return { content: false, fault: faultInside(event, error, classOfError), usageOnly: false };
      if (event.type === 'transcript.text.done') {
        seen.terminal = true;
        seen.usage = usageOf(event.usage, null);
        return aside;
      }
      return event.type === 'transcript.text.delta' || event.type === 'transcript.text.segment' ? content : aside;
    },
    whole: () => fault('malformed', 'answered whole, not as a stream'),
  };
}
