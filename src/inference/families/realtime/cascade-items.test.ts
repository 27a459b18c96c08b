import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventWriter } from '../../../formats/media/realtime/response-writer.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { CascadeConversation } from './cascade-conversation.ts';
import { CascadeItems } from './cascade-items.ts';

test('an item that is deleted while its sound is transcribed is never done', () => {
  const events: JsonObject[] = [];
  const writer = new EventWriter('present', 'x', (event) => events.push(event as JsonObject));
  let transcribed = (_: readonly string[] | null) => {};
  const items = new CascadeItems(writer, new CascadeConversation(), {
    sees: false as never,
    transcribe(_, then) {
      transcribed = then;
      return null;
    },
  });
  const content = [{ type: 'input_audio', audio: 'AAAA' }];
  items.take({ type: 'conversation.item.create', item: { id: 'one', type: 'message', role: 'user', content } });
  items.take({ type: 'conversation.item.delete', item_id: 'one' });
  transcribed(['Hello']);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['conversation.item.added', 'conversation.item.deleted'],
  );
});
