import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { listening } from '../listening.ts';

const usage = { input_tokens: 300, cache_creation_input_tokens: 1_000, cache_read_input_tokens: 200, output_tokens: 5 };

/** Anthropic's API as far as a whole answer goes, which reads and writes its cache. */
export async function startMessages(t: Pick<TestContext, 'after'>): Promise<{ url: string }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      const content = [{ type: 'text', text: 'hello' }];
      const answer = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content };
      response.end(JSON.stringify({ ...answer, stop_reason: 'end_turn', stop_sequence: null, usage }));
    });
  });
  return { url: await listening(t, server) };
}
