import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type EncodeOrder,
  type NeededMedia,
  readConversation,
} from '../../src/inference/families/chat/conversation-body.ts';
import type { EncodedBody } from '../../src/inference/spine/encode-forwarded.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { specValidator } from '../spec/validate.ts';
import { titleOf } from './must-hold.ts';

/*
 * Requests of callers of Responses, as they go to providers of other formats: `sent-chat.json`, `sent-messages.json`,
 * `sent-gemini.json`, with the losses in the caller's own words, or the refusal.
 */

const home = join(import.meta.dirname, 'from-responses');

const targets: readonly { name: string; order: Pick<EncodeOrder, 'provider' | 'dialect' | 'model'> }[] = [
  { name: 'chat', order: { provider: 'nebius', dialect: 'openai-chat', model: 'some-model' } },
  { name: 'messages', order: { provider: 'anthropic', dialect: 'anthropic-messages', model: 'claude-sonnet-4-5' } },
  { name: 'gemini', order: { provider: 'gemini', dialect: 'gemini', model: 'gemini-2.5-flash' } },
];

for (const name of readdirSync(home).sort()) {
  const raw = readFileSync(join(home, name, 'request.json'));
  for (const target of targets) {
    // Media by URL are fetched first there: the fetching has tests of its own.
    if (target.name === 'gemini' && raw.includes('"https://')) continue;
    test(`${titleOf(name)}: a request of Responses over ${target.name}`, async () => {
      const file = join(home, name, `sent-${target.name}.json`);
      const read = readConversation(raw, 'openai-responses');
      assert.ok(!isFailure(read), JSON.stringify(read));
      const encoded = await read.encode({
        ...target.order,
        maxOutputTokens: 64_000,
        stream: true,
        body: {},
        child: null,
      });
      const sent = isFailure(encoded) ? { refused: encoded } : sentOf(encoded);
      const text = `${JSON.stringify(sent, null, 2)}\n`;
      if (process.env.CULVERT_WRITE_EXPECTED === '1') writeFileSync(file, text);
      assert.ok(existsSync(file));
      assert.deepEqual(JSON.parse(text), JSON.parse(readFileSync(file, 'utf8')));
      if (!isFailure(encoded) && target.name === 'chat') {
        const { body } = sent as { body: unknown };
        assert.deepEqual(specValidator('openai', 'CreateChatCompletionRequest')(body), []);
      }
    });
  }
}

function sentOf(encoded: EncodedBody | NeededMedia): { body: unknown; lost: string[] } {
  if (!('bytes' in encoded)) throw new Error('nothing is fetched here');
  return {
    body: JSON.parse(encoded.bytes.toString()),
    lost: encoded.losses.map((loss) => `${loss.field}: ${loss.why}`),
  };
}
