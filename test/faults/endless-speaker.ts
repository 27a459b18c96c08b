import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { listening } from '../listening.ts';

/** An upstream that speaks 1 KB of text at a time, as fast as it is read, and never ends. */
export async function endlessSpeaker(t: TestContext, type: 'openai' | 'anthropic') {
  const { opening, delta } = wireOf(type, 'x'.repeat(1_000));
  let sentBytes = 0;
  let left = () => {};
  const closed = new Promise<void>((resolve) => {
    left = resolve;
  });
  const server = createServer((request, response) => {
    request.resume();
    if (request.method !== 'POST') {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(opening);
    const speak = () => {
      do sentBytes += delta.length;
      while (response.write(delta));
    };
    response.on('drain', speak);
    response.on('close', () => left());
    speak();
  });
  const url = await listening(t, server);
  return { url, closed, sentBytes: () => sentBytes };
}

function wireOf(type: 'openai' | 'anthropic', text: string): { opening: string; delta: string } {
  if (type === 'openai') {
    const chunk = (delta: object) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
    return { opening: chunk({ role: 'assistant', content: '' }), delta: chunk({ content: text }) };
  }
  const event = (name: string, body: object) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...body })}\n\n`;
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', usage };
  return {
    opening:
      event('message_start', { message }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    delta: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  };
}
