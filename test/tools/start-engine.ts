import { createServer, type IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { listening } from '../listening.ts';

/** What the engine says to one call: `silent` never answers. */
export type EngineSays = { status?: number; headers?: Record<string, string>; body: unknown } | 'silent';

export interface AskedEngine {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A search engine of its own for one test. `says` may be changed while it runs. */
export interface TestEngine {
  url: string;
  asked: AskedEngine[];
  says(call: AskedEngine): EngineSays;
}

/** On a free port, closed with the test. */
export async function startEngine(t: Pick<TestContext, 'after'>, says: TestEngine['says']): Promise<TestEngine> {
  const engine: TestEngine = { url: '', asked: [], says };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', headers } = request;
      const call = {
        method,
        headers,
        url: new URL(request.url ?? '/', engine.url),
        body: Buffer.concat(chunks).toString(),
      };
      engine.asked.push(call);
      const answer = engine.says(call);
      if (answer === 'silent') return;
      const { status = 200, body } = answer;
      response.writeHead(status, { 'content-type': 'application/json', ...answer.headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  const url = await listening(t, server);
  engine.url = url;
  return engine;
}

/** An answer of SearXNG's with these pages. */
export function searxngSays(...urls: string[]): EngineSays {
  return {
    body: { results: urls.map((url) => ({ url, title: `Title of ${url}`, content: `Words of ${url}`, score: 1 })) },
  };
}

/** The same of Brave's. */
export function braveSays(...urls: string[]): EngineSays {
  const results = urls.map((url) => ({ url, title: `Title of ${url}`, description: `Words of ${url}` }));
  return { body: { type: 'search', web: { results } } };
}
