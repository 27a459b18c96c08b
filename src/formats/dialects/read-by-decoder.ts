import { isObject, type JsonObject } from '../../kernel/json.ts';
import { contentChars, type NeutralEvent } from '../neutral/event.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import { estimatedTokens, type Usage } from '../neutral/usage.ts';
import type { PassingReader, StreamDecoder } from './dialect.ts';
import { brokenLine, contentOnly, nothing } from './event-data.ts';

/**
 * Reads usage, errors and the end out of an answer that is forwarded as bytes, by the decoder of its events. `closing`:
 * what an answer lacks that has finished and only its last event was left out; absent: such an answer is cut.
 */
export function readByDecoder(
  decoder: StreamDecoder,
  decodeWhole: (body: JsonObject) => readonly NeutralEvent[],
  closing?: string,
): PassingReader {
  const seen = {
    usage: null as Usage | null,
    terminal: false,
    ...(closing !== undefined && { closing: '' }),
    outputTokensSeen: 0,
    finishReason: null as string | null,
  };
  let chars = 0;
  let malformed = 0;

  /** Null when nothing of the answer shows. */
  function look(events: readonly NeutralEvent[]): { shows: boolean; fault: Fault | null } {
    let shows = false;
    for (const event of events) {
      if (event.type === 'failed') return { shows, fault: event.fault };
      if (event.type === 'start' && event.id !== null) Object.assign(seen, { mark: { id: event.id, sequence: 0 } });
      else if (event.type === 'usage') seen.usage = event.impossible === true ? null : event.usage;
      else if (event.type === 'finish') {
        seen.finishReason = event.reason;
        if (closing !== undefined) Object.assign(seen, { terminal: true, closing });
      } else if (event.type === 'end') {
        seen.terminal = true;
        if (closing !== undefined) Object.assign(seen, { closing: '' });
      }
      const eventChars = contentChars(event);
      if (eventChars === null) continue;
      shows = true;
      chars += eventChars;
    }
    seen.outputTokensSeen = estimatedTokens(chars);
    return { shows, fault: null };
  }

  return {
    seen,
    step(event) {
      const { shows, fault: found } = look(decoder.step(event));
      if (found !== null) return { ...nothing, fault: found };
      if (decoder.malformedLines > malformed) {
        malformed = decoder.malformedLines;
        return { ...nothing, fault: brokenLine };
      }
      return shows ? contentOnly : nothing;
    },
    whole(body) {
      if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
      return look(decodeWhole(body)).fault;
    },
  };
}
