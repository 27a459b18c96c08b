import assert from 'node:assert/strict';
import { createParser } from 'eventsource-parser';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';

/**
 * The whole message that a client puts together from a stream of Messages, written for tests alone and without a look
 * at `fold`. On the way it checks what clients need (clients.md §1, §4, §14): names on all events, one message_start
 * with usage, dense blocks that are opened and closed one by one, a single end.
 */
export function messageOfFrames(frames: string): { message: JsonObject; ended: boolean } {
  let message: JsonObject = {};
  let content: JsonObject[] = [];
  let open = -1;
  let json = '';
  const seen: string[] = [];
  const parser = createParser({
    onEvent({ event, data: text }) {
      const data = JSON.parse(text) as JsonObject & { type: string };
      assert.equal(event, data.type, 'the event line names the type');
      assert.ok(!seen.includes('message_stop'), 'nothing follows message_stop');
      if (seen.length === 0) assert.equal(event, 'message_start');
      seen.push(event);
      switch (event) {
        case 'message_start':
          assert.equal(seen.length, 1, 'one message_start, first');
          message = data.message as JsonObject;
          content = message.content as JsonObject[];
          assert.deepEqual(content, []);
          for (const count of ['input_tokens', 'output_tokens']) {
            assert.equal(typeof (message.usage as JsonObject)[count], 'number', count);
          }
          return;
        case 'content_block_start':
          assert.equal(open, -1, 'the block before is closed');
          assert.equal(data.index, content.length, 'indexes are dense');
          open = content.length;
          json = '';
          content.push({ ...(data.content_block as JsonObject) });
          return;
        case 'content_block_delta':
          assert.equal(data.index, open, 'a delta of the open block');
          json += addDelta(content[open]!, data.delta as JsonObject);
          return;
        case 'content_block_stop': {
          assert.equal(data.index, open, 'the open block is closed');
          const block = content[open]!;
          if (block.type === 'tool_use') block.input = inputOf(json);
          open = -1;
          return;
        }
        case 'message_delta':
          assert.equal(open, -1, 'all blocks are closed');
          Object.assign(message, data.delta);
          message.usage = { ...(message.usage as JsonObject), ...(data.usage as JsonObject) };
      }
    },
  });
  parser.feed(frames);
  const ended = seen.at(-1) === 'message_stop';
  if (ended) assert.equal(seen.at(-2), 'message_delta');
  return { message, ended };
}

/** The piece of a tool's input in it. */
function addDelta(block: JsonObject, delta: JsonObject): string {
  switch (delta.type) {
    case 'text_delta':
      assert.equal(block.type, 'text');
      block.text = `${block.text}${delta.text}`;
      return '';
    case 'thinking_delta':
      assert.equal(block.type, 'thinking');
      block.thinking = `${block.thinking}${delta.thinking}`;
      return '';
    case 'signature_delta':
      assert.equal(block.type, 'thinking');
      block.signature = delta.signature!;
      return '';
    case 'citations_delta':
      block.citations = [...((block.citations as JsonObject[] | undefined) ?? []), delta.citation as JsonObject];
      return '';
    default:
      assert.equal(delta.type, 'input_json_delta');
      assert.equal(block.type, 'tool_use');
      return delta.partial_json as string;
  }
}

/** Our whole answer gives text that is not a JSON object as `_raw`. */
function inputOf(json: string): JsonObject {
  if (json === '') return {};
  try {
    const value: unknown = JSON.parse(json);
    if (isObject(value)) return value;
  } catch {
    // Told as it is.
  }
  return { _raw: json };
}
