import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Lifetime } from '../start-process.ts';

/**
 * An upstream that speaks 1 KB of text at a time, as fast as it is read, and never ends. It has a thread: what speaks for
 * many readers delays nothing that the test measures.
 */
export async function endlessSpeaker(t: Lifetime, type: 'openai' | 'anthropic') {
  const sent = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const sentBytes = new BigInt64Array(sent);
  const workerData = { ...wireOf(type, 'x'.repeat(1_000)), sent };
  const thread = new Worker(new URL('./endless-speaker-thread.ts', import.meta.url), { workerData });
  t.after(() => thread.terminate());
  const [url] = (await once(thread, 'message')) as [string];
  const closed = new Promise<void>((resolve) => {
    thread.once('message', () => resolve());
  });
  return { url, closed, sentBytes: () => Number(Atomics.load(sentBytes, 0)) };
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
