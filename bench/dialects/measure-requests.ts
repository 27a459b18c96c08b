import type { CallerDialectId, SharedDialectId } from '../../src/formats/dialects/dialect.ts';
import { type EncodeOrder, readConversation } from '../../src/inference/families/chat/conversation-body.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { judged, type Row } from '../rows.ts';
import { measureUs } from './measure.ts';

const providers = {
  'openai-chat': 'openai',
  'anthropic-messages': 'anthropic',
  'openai-responses': 'openai',
  gemini: 'gemini',
} as const;

/** What `body` costs from the bytes of `caller` to the bytes for a provider of each format. */
export function* measureRequests(caller: CallerDialectId, body: JsonObject): Generator<Row> {
  const raw = Buffer.from(JSON.stringify(body));
  const size = `${Math.round(raw.length / 1_000)} KB`;
  const read = () => {
    const conversation = readConversation(raw, caller);
    if (isFailure(conversation)) throw new Error(`${caller}: ${JSON.stringify(conversation)}`);
    return conversation;
  };
  const show = { unit: ' µs', digits: 0 };
  yield judged(
    `${caller}, ${size}: JSON.parse alone`,
    measureUs(() => JSON.parse(raw.toString())),
    show,
  );
  yield judged('… parsed and checked', measureUs(read), show);
  for (const [dialect, provider] of Object.entries(providers) as [SharedDialectId, string][]) {
    const order: EncodeOrder = {
      provider,
      dialect,
      model: 'upstream-model',
      maxOutputTokens: 64_000,
      stream: true,
      body: {},
      child: null,
    };
    const write = () => {
      const encoded = read().encode(order);
      if (encoded instanceof Promise || isFailure(encoded) || !('bytes' in encoded))
        throw new Error(`${caller} → ${dialect}: ${JSON.stringify(encoded)}`);
    };
    yield judged(`… → ${dialect}`, measureUs(write), { ...show, atMost: 2_000 });
  }
}
