import type { JsonObject } from '../../src/kernel/json.ts';
import { firstRequest } from '../../test/clients/claude-code-body.ts';

/** A Messages request of about `bytes`: Claude Code's first one (about 60 KB), and a conversation behind it. */
export function messagesBody(bytes: number): JsonObject {
  const first = firstRequest('Hello') as JsonObject;
  const messages = [...(first.messages as JsonObject[])];
  for (let size = JSON.stringify(first).length; size < bytes; ) {
    const id = `toolu_${messages.length}`;
    const turn = [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look at it. '.repeat(8) },
          { type: 'tool_use', id, name: 'Read', input: { file_path: '/src/main.ts', offset: messages.length } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, content: 'a line of the file\n'.repeat(40) }],
      },
    ];
    messages.push(...turn);
    size += JSON.stringify(turn).length;
  }
  return { ...first, messages };
}
