import type { NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import type { DecodeOptions, SseEvent, StreamDecoder } from '../dialect.ts';
import { parsedData } from '../event-data.ts';
import { createChunkReader } from './chunk-reader.ts';

/**
 * Chunks of `text/event-stream` as events. `[DONE]` ends the answer, and so does a clean end of the bytes once every
 * choice has its finish reason, since several providers leave `[DONE]` out; any other end is a truncation.
 */
export function decodeStream({ usageOf }: DecodeOptions = {}): StreamDecoder {
  const reader = createChunkReader(usageOf);
  let closed = false;
  let malformed = 0;

  function close(): NeutralEvent {
    closed = true;
    if (reader.isComplete()) return { type: 'end' };
    return reader.hasStarted()
      ? { type: 'failed', fault: fault('truncated', 'the stream ended before the answer was finished') }
      : { type: 'failed', fault: fault('malformed', 'the stream ended without an answer') };
  }

  return {
    step({ data }: SseEvent) {
      if (closed || data === '') return [];
      if (data === '[DONE]') return [close()];
      const chunk = parsedData(data);
      // A server that fails in the middle may put a bare word or a page of HTML on the line; `[DONE]` among blanks is harmless.
      if (chunk === null) {
        malformed += 1;
        return [];
      }
      const events: NeutralEvent[] = [];
      reader.read(chunk, events);
      if (events.at(-1)?.type === 'failed') closed = true;
      return events;
    },
    finish: () => (closed ? [] : [close()]),
    malformedLines: () => malformed + reader.skipped(),
  };
}
