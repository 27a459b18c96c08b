/**
 * Headers whose values are made here, of digits, ids and names that were checked. Nothing else goes out unseen by
 * node's validators: a line break in a value would be the beginning of another answer.
 */
const madeHere = `x-culvert-attempts x-culvert-cost x-culvert-cost-usd ratelimit x-ratelimit-limit-requests
  x-ratelimit-remaining-requests x-ratelimit-reset-requests x-ratelimit-limit-tokens
  x-ratelimit-remaining-tokens x-ratelimit-reset-tokens anthropic-ratelimit-requests-limit
  anthropic-ratelimit-requests-remaining anthropic-ratelimit-requests-reset
  anthropic-ratelimit-tokens-limit anthropic-ratelimit-tokens-remaining anthropic-ratelimit-tokens-reset`.split(/\s+/);

/**
 * Headers whose values are the same for many answers, so each value is checked once. The names of limits in the policy
 * are those of `ratelimit`, which changes with every answer.
 */
const seldomNew = [
  'content-type',
  'cache-control',
  'x-accel-buffering',
  'ratelimit-policy',
  'x-culvert-provider',
  'x-culvert-model',
];

/** Beginning of each header's line, and the values that passed the check; `fit` null: its values need none. */
export const knownHeaders = new Map<string, { begin: string; fit: Set<string> | null }>();
for (const name of madeHere) knownHeaders.set(name, { begin: `\r\n${name}: `, fit: null });
for (const name of seldomNew) knownHeaders.set(name, { begin: `\r\n${name}: `, fit: new Set() });
