import type { AnswerHead, DecodeOptions, UpstreamDialect } from '../../src/formats/dialects/dialect.ts';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import type { Fault } from '../../src/formats/neutral/outcome.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { createSseReader } from '../../src/upstream/transport/sse-reader.ts';

export const head: AnswerHead = {
  fallbackId: 'chatcmpl-fallback',
  model: 'alias',
  createdS: 1_750_000_000,
  includeUsage: true,
};

/** A chat completions caller's view of one answer. */
export interface Shown {
  /** The stream, frame after frame. */
  frames: string;
  /** The whole answer, or why there is none. */
  completion: JsonObject | { failed: Fault };
  malformedLines: number;
}

/** The provider's bytes, in whatever pieces the network cut them, as the caller's stream and whole answer. */
export function replay(dialect: UpstreamDialect, pieces: readonly Buffer[], options: DecodeOptions | undefined): Shown {
  const reader = createSseReader({ eventBytesMax: 1024 * 1024 });
  const decoder = dialect.decodeStream(options);
  const events: NeutralEvent[] = [];
  for (const piece of pieces) for (const event of reader.push(piece)) events.push(...decoder.step(event));
  for (const event of reader.end()) events.push(...decoder.step(event));
  events.push(...decoder.finish());
  return { ...show(events), malformedLines: decoder.malformedLines };
}

export function show(events: readonly NeutralEvent[]): Omit<Shown, 'malformedLines'> {
  const encoder = openAiChat.encodeStream(head);
  const fold = openAiChat.fold(head);
  let frames = '';
  let failed: Fault | null = null;
  for (const event of events) {
    frames += encoder.step(event);
    fold.add(event);
    if (event.type === 'failed') failed = event.fault;
  }
  return { frames, completion: failed === null ? fold.result() : { failed } };
}
