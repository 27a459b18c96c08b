import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listening } from '../listening.ts';

/** Marks of answers, the best first. */
const marks = ['excellent', 'fine', 'poor'];

interface Pair {
  first: string;
  second: string;
}

/**
 * An upstream whose models give the `answers`, 100 tokens in and 10 out. Its model `judge` prefers the better mark, the
 * first place where one answer is `biased`, and talks where one is `odd`. `judged`: pairs in their order.
 */
export async function startJudged(t: { after(done: () => void): void }) {
  const upstream = {
    url: '',
    answers: {} as Readonly<Record<string, string>>,
    judged: [] as Pair[],
  };

  function verdictOf(text: string): string {
    const pair = JSON.parse(text) as Pair;
    upstream.judged.push(pair);
    const { first, second } = pair;
    if (/biased/.test(first + second)) return 'FIRST';
    if (/odd/.test(first + second)) return 'It is hard to tell which of them I like.';
    const [one, other] = [first, second].map((answer) => marks.findIndex((mark) => answer.includes(mark)));
    return one === other ? 'EQUAL' : one! < other! ? 'First.' : 'SECOND';
  }

  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.method !== 'POST') return void response.end('{"object":"list","data":[]}');
    const { model, messages } = (await json(request)) as { model: string; messages: { content: string }[] };
    const content =
      model === 'judge' ? verdictOf(messages.at(-1)!.content) : (upstream.answers[model] ?? 'A fine answer');
    response.end(
      JSON.stringify({
        ...{ id: 'c', object: 'chat.completion', created: 1, model },
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
      }),
    );
  });
  upstream.url = await listening(t, server);
  return upstream;
}
