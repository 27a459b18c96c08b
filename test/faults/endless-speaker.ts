import { once } from 'node:events';
import { readFileSync } from 'node:fs';
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
  const port = Number(new URL(url).port);
  return {
    url,
    closed,
    sentBytes: () => Number(Atomics.load(sentBytes, 0)),
    /** Bytes that its reader took out of the kernel, whose buffers between them grow as it likes. */
    takenBytes: () => Number(Atomics.load(sentBytes, 0)) - queuedBytes(port),
  };
}

/** Bytes that the kernel holds on the way from this port of loopback to its readers. */
function queuedBytes(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  let bytes = 0;
  for (const line of readFileSync('/proc/self/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
    const [unsent = '', unread = ''] = queues.split(':');
    if (local.endsWith(`:${hex}`) && !remote.endsWith(':0000')) bytes += Number.parseInt(unsent, 16);
    if (remote.endsWith(`:${hex}`)) bytes += Number.parseInt(unread, 16);
  }
  return bytes;
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
