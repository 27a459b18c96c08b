import { parentPort } from 'node:worker_threads';
import { testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** Order of the gateway's thread: one request, its answer read to its end. `body` null: a GET. */
export interface Order {
  url: string;
  body: unknown;
}

// Both ends of the gateway are here, so that its own thread does the gateway's work and no other.
const upstream = await startUpstream();
parentPort!.postMessage(upstream.url);
parentPort!.on('message', async ({ url, body }: Order) => {
  const response = await fetch(url, {
    method: body === null ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isAnswer = response.ok && !text.includes('"error"');
  parentPort!.postMessage(isAnswer ? 'answered' : `${response.status} ${text}`);
});
