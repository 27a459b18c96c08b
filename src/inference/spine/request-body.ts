import { noNeeds, type RequestNeeds } from '../neutral/request.ts';

/** What every request says of itself. */
export interface RequestFacts {
  model: string;
  /** It wants a stream. */
  stream: boolean;
  /** End-user id, for the ledger. */
  user: string | null;
  /** What it is summed by, where its body may say so; null or absent: it does not. */
  tag?: string | null;
  needs: RequestNeeds;
}

/**
 * A checked request body. The body itself stays where it was parsed: here, or for a large one in a worker, so everything
 * that crosses is plain data.
 */
export interface RequestBody<F extends RequestFacts = RequestFacts> {
  readonly facts: F;
  /** No more calls. */
  release(): void | Promise<void>;
}

/** The facts of a request that is no conversation; `needs`: what its own kind asks of a target. */
export function plainFacts(
  request: { model: string; user: string | null; stream: boolean; inputTokensEstimate: number },
  needs: Partial<RequestNeeds> = {},
): RequestFacts {
  const { model, user, stream, inputTokensEstimate } = request;
  return { model, stream, user, needs: { ...noNeeds, stream, inputTokensEstimate, ...needs } };
}
