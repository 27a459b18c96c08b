/** Functions that a module or a webhook may have. */
export const hookNames = ['onRequest', 'onRoute', 'onAttempt', 'onAnswer', 'onEvent', 'onSettled'] as const;

export type HookName = (typeof hookNames)[number];

/** Functions whose replies mean nothing, and for which no request waits. */
export const onlyLook: ReadonlySet<HookName> = new Set<HookName>(['onAttempt', 'onSettled']);

/** The version of what hooks get and reply. */
export const hooksVersion = 1;

/** Why these functions do not fit together, a sentence; null: they do. */
export function whyNoHooks(names: readonly string[]): string | null {
  if (names.length === 0) return `it has none of the functions ${hookNames.join(', ')}`;
  if (names.includes('onAnswer') && names.includes('onEvent'))
    return 'it has onAnswer and onEvent: onAnswer holds streams to their end, so keep one of them';
  return null;
}
