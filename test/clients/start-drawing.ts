import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { listening } from '../listening.ts';

/** The source that each answer names, for its whole text. */
export const source = { url: 'https://a.example', title: 'A', start_index: 0, end_index: 9 };

/**
 * A server of chat completions that answers, as OpenRouter does, by a text with its source and two pictures: one of the
 * bytes `AAAA`, one by its address. Its base URL.
 */
export async function startDrawing(t: Pick<TestContext, 'after'>): Promise<string> {
  const urls = ['data:image/jpeg;base64,AAAA', 'https://pictures.example/a.png'];
  const message = {
    ...{ role: 'assistant', content: 'It rains.' },
    images: urls.map((url) => ({ type: 'image_url', image_url: { url } })),
    annotations: [{ type: 'url_citation', url_citation: source }],
  };
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const answer = {
    ...{ id: 'drawn', object: 'chat.completion', created: 1, model: 'm', usage },
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  return `${await listening({ after: (done) => t.after(done) }, server)}/v1`;
}
