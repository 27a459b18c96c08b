import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { specValidator } from '../spec/validate.ts';
import { openWorld } from './world.ts';

for (const model of ['chat', 'claude', 'native']) {
  test(`a compaction stands for what was said, at any provider, for its own key alone (${model})`, async (t) => {
    const { client, stranger, sent } = await openWorld(t, {}, 'mock/text=Ada%20lives%20in%20Rome.');
    const first = await client.responses.create({ model, input: 'My name is Ada.' });
    sent();
    const made = await client.responses.compact({
      model: model as 'gpt-5',
      previous_response_id: first.id,
      input: 'I live in Rome.',
    });
    assert.deepEqual(specValidator('openai', 'CompactResource')(made), []);
    const [asked] = sent();
    assert.match(JSON.stringify(asked), /I live in Rome\..*Summarize this conversation/);
    const [item] = made.output as unknown as JsonObject[];
    assert.equal(item!.type, 'compaction');
    assert.ok(!JSON.stringify(made).includes('Ada lives'), 'it is encrypted');

    for (const other of ['chat', 'claude', 'native']) {
      const input = [item as never, { role: 'user' as const, content: 'Who am I?' }];
      const next = await client.responses.create({ model: other, input });
      assert.match(JSON.stringify(sent()[0]), /Ada lives in Rome\./);
      await client.responses.create({ model: other, input: 'And?', previous_response_id: next.id });
      if (other !== 'native') assert.match(JSON.stringify(sent()[0]), /Ada lives in Rome\./);
    }
    await assert.rejects(stranger.responses.create({ model, input: [item as never] }), { status: 400 });
    await assert.rejects(client.responses.compact({ model: 'nobody' as 'gpt-5', input: 'Hi' }), { status: 404 });
  });
}
