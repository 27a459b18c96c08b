import { loadEventStream } from '../transport/event-stream.ts';
import type { Authorizer } from '../transport/upstream-call.ts';

/** An API key of Bedrock's. What reads its streams is loaded before the first request is sent. */
export function awsBearer(token: string): Authorizer {
  const headers = ['authorization', `Bearer ${token}`];
  let loaded = false;
  return (): readonly string[] | Promise<readonly string[]> => {
    if (loaded) return headers;
    return loadEventStream().then(() => {
      loaded = true;
      return headers;
    });
  };
}
