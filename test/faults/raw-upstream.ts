import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { listening } from '../listening.ts';

/** Answers `POST /<index>/…` with status 200 and the body given for that index, byte for byte. */
export async function rawUpstream(
  t: TestContext,
  answer: (index: number) => { type: string; body: Buffer },
): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      if (request.method !== 'POST') {
        response.writeHead(404).end();
        return;
      }
      const { type, body } = answer(Number(request.url?.split('/')[1]));
      response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body);
    });
  });
  return listening(t, server);
}
