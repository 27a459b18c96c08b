import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { Route } from '../exchange.ts';

/** A row of the route table for callers with a key, such as `POST /v1/embeddings`. Its errors are OpenAI's by default. */
export function keyRoute(
  call: `${Route['method']} ${string}`,
  quota: Route['quota'],
  rest: Omit<Route, 'method' | 'path' | 'auth' | 'quota' | 'dialect'> & Partial<Pick<Route, 'dialect'>>,
): Route {
  const [method, path] = call.split(' ') as [Route['method'], string];
  return { method, path, auth: 'key', quota, dialect: openAiChat, ...rest };
}
