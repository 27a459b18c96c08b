import type { JsonObject } from '../../src/kernel/json.ts';

/** A chat request of about `bytes`: a conversation of an agent, with its calls and their results. */
export function chatBody(bytes: number): JsonObject {
  const words = 'The quick brown fox jumps over the lazy dog, again. ';
  const messages: JsonObject[] = [{ role: 'system', content: words.repeat(8) }];
  const parameters = { type: 'object', properties: { path: { type: 'string' }, pattern: { type: 'string' } } };
  const tools = Array.from({ length: 8 }, (_, i) => ({
    type: 'function',
    function: { name: i === 0 ? 'grep' : `tool_${i}`, description: words, parameters },
  }));
  const body = { model: 'alias', stream: true, temperature: 0.2, max_completion_tokens: 1_024, tools, messages };
  const args = JSON.stringify({ path: 'src/a.ts', pattern: words });
  for (let size = JSON.stringify(body).length; size < bytes; ) {
    const id = `call_${messages.length}`;
    const turn = [
      { role: 'user', content: words.repeat(4) },
      {
        role: 'assistant',
        content: words,
        tool_calls: [{ id, type: 'function', function: { name: 'grep', arguments: args } }],
      },
      { role: 'tool', tool_call_id: id, content: words.repeat(12) },
    ];
    messages.push(...turn);
    size += JSON.stringify(turn).length;
  }
  messages.push({ role: 'user', content: 'And now?' });
  return body;
}
