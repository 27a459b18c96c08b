import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { Route } from '../exchange.ts';

/** A row of the route table for callers with a key, such as `POST /v1/embeddings`. Its errors are OpenAI's by default. */
export function keyRoute(
  call: `${Route['method']} ${string}`,
  quota: Route['quota'],
  rest: Omit<Route, 'method' | 'path' | 'auth' | 'quota' | 'dialect'> & Partial<Pick<Route, 'dialect'>>,
): Route {
  return { ...placeOf(call), auth: 'key', quota, dialect: openAiChat, ...rest };
}

/** A row for those who have no key, such as orchestrators. It shows nothing of models, keys or providers. */
export function openRoute(call: `${Route['method']} ${string}`, summary: string, handle: Route['handle']): Route {
  return { ...placeOf(call), auth: 'none', quota: 'none', dialect: openAiChat, summary, handle };
}

function placeOf(call: string): Pick<Route, 'method' | 'path'> {
  const [method, path] = call.split(' ') as [Route['method'], string];
  return { method, path };
}
