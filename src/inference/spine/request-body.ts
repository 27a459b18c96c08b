import type { CallerRequest } from '../../formats/dialects/dialect.ts';
import { noNeeds, type RequestNeeds } from '../../formats/neutral/request.ts';
import type { Canonical } from '../models/steps.ts';

export interface RequestFacts extends Pick<CallerRequest, 'model' | 'stream' | 'user' | 'tag' | 'needs'> {
  /** The conversation or run that its body names, such as `prompt_cache_key`; null or absent: none. */
  session?: string | null;
}

/**
 * A checked request body. The body itself stays where it was parsed: here, or for a large one in a worker, so everything
 * that crosses is plain data.
 */
export interface RequestBody<F extends RequestFacts = RequestFacts> {
  readonly facts: F;
  /** Same as its input's, for a body that was read in this thread; null or absent: ask the input. */
  canonical?(part?: 'question'): Canonical | null;
  /** No more calls. */
  release(): void | Promise<void>;
}

/** Facts of a request other than a conversation; `needs`: demands of its kind on a target. */
export function plainFacts(
  request: { model: string; user: string | null; stream: boolean; inputTokensEstimate: number },
  needs: Partial<RequestNeeds> = {},
): RequestFacts {
  const { model, user, stream, inputTokensEstimate } = request;
  return { model, stream, user, needs: { ...noNeeds, stream, inputTokensEstimate, ...needs } };
}
