import type { CallerDialect, SseEvent, UpstreamDialect } from '../../src/formats/dialects/dialect.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import { judged, type Row } from '../rows.ts';
import { measureUs } from './measure.ts';

/** A format that callers and providers speak: only its own encoder makes the streams that are measured here. */
export type BothSides = CallerDialect & UpstreamDialect;

const deltas = 500;
const head = { fallbackId: 'id_1', model: 'alias', createdS: 1_750_000_000, includeUsage: true };
const answer: NeutralEvent[] = [
  { type: 'start', id: 'id_1', model: 'alias', createdS: 1_750_000_000 },
  ...Array.from({ length: deltas }, (): NeutralEvent => ({ type: 'text-delta', choice: 0, text: ' token and a few' })),
  { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
  { type: 'usage', usage: { inputTokens: 900, outputTokens: deltas } },
  { type: 'end' },
];

/** Cost of one event between each of `upstreams` and `caller`. */
export function* measureStreams(caller: CallerDialect, upstreams: readonly BothSides[]): Generator<Row> {
  for (const upstream of upstreams) {
    const events = onTheWire(upstream);
    const pass = upstream.id === caller.id ? lookedAt : convertedFor(caller);
    const us = measureUs(() => pass(upstream, events)).map((us) => us / events.length);
    yield judged(`event of a stream, ${upstream.id} → ${caller.id}`, us, { unit: ' µs', digits: 2 });
  }
}

function onTheWire(dialect: BothSides): SseEvent[] {
  const encoder = dialect.encodeStream(head);
  const frames = answer.map((event) => encoder.step(event)).join('');
  const events = frames
    .split(/\r?\n\r?\n/)
    .filter((frame) => frame !== '')
    .map((frame) => ({
      event: /^event: (.*)$/m.exec(frame)?.[1] ?? '',
      data: /^data: (.*)$/m.exec(frame)?.[1] ?? '',
    }));
  if (events.length < deltas) throw new Error(`${dialect.id}: only ${events.length} events`);
  return events;
}

function lookedAt(upstream: CallerDialect & UpstreamDialect, events: readonly SseEvent[]): void {
  const reader = upstream.readInPassing();
  for (const event of events) reader.step(event);
  if (!reader.seen.terminal) throw new Error(`${upstream.id}: no end seen`);
}

function convertedFor(caller: CallerDialect) {
  return (upstream: UpstreamDialect, events: readonly SseEvent[]): void => {
    const decoder = upstream.decodeStream();
    const encoder = caller.encodeStream(head);
    let last: NeutralEvent | undefined;
    for (const event of events) {
      for (const said of decoder.step(event)) {
        encoder.step(said);
        last = said;
      }
    }
    last = decoder.finish().at(-1) ?? last;
    if (last?.type !== 'end') throw new Error(`${upstream.id}: no end but ${last?.type}`);
  };
}
