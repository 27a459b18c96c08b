import { type Failure, invalid } from '../../kernel/failure.ts';
import type { ModelCall } from '../spine/model-call.ts';

/** Directives of a caller for the cache. They may only tighten what the operator allows. */
export interface CacheDirectives {
  /** `off`: neither read nor written. `only`: nobody is asked. `refresh`: asked anew, and written. */
  use: 'any' | 'off' | 'only' | 'refresh';
  /** Seconds; null: as old as the operator allows. */
  maxAgeS: number | null;
  /** Only the answer to an equal question will do. */
  exact: boolean;
}

const uses: readonly string[] = ['off', 'only', 'refresh', 'exact'] satisfies (CacheDirectives['use'] | 'exact')[];

/** Reads `x-culvert-cache`, `x-culvert-cache-max-age` and `Cache-Control`; a 400 names the wrong header. */
export function readCacheDirectives(headers: ModelCall['callerHeaders']): CacheDirectives | Failure {
  const header = headers['x-culvert-cache'];
  if (header !== undefined && (typeof header !== 'string' || !uses.includes(header))) {
    return invalid('x-culvert-cache', 'x-culvert-cache must be off, only, refresh or exact.');
  }
  const maxAge = headers['x-culvert-cache-max-age'];
  if (maxAge !== undefined && (typeof maxAge !== 'string' || !/^\d{1,9}$/.test(maxAge))) {
    return invalid('x-culvert-cache-max-age', 'x-culvert-cache-max-age must be a whole number of seconds.');
  }
  const exact = header === 'exact';
  const named = exact ? undefined : (header as CacheDirectives['use'] | undefined);
  const use = named ?? useOfControl(headers['cache-control']);
  return { use, maxAgeS: maxAge === undefined ? null : Number(maxAge), exact };
}

function useOfControl(control: string | string[] | undefined): CacheDirectives['use'] {
  if (control === undefined) return 'any';
  const words = String(control)
    .toLowerCase()
    .split(',')
    .map((word) => word.trim());
  if (words.includes('no-store')) return 'off';
  return words.includes('no-cache') ? 'refresh' : 'any';
}
