/** What Redis says, or what kept it from saying anything; addresses and passwords are not in it. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Which of our scripts met it is of no use to an operator, and would make one trouble many.
  return error.message.replace(/,? script: [0-9a-f]{40}, on @user_script:\d+\.?$/, '').trim() || error.name;
}

/**
 * Whether a server that answers so cannot serve us now, whatever it is asked; another connection may find one that can.
 * Redis 6 tells what a script met in words of its own, with the code within.
 */
export function cannotServe(words: string): boolean {
  return /(^|: -)(READONLY|LOADING|MASTERDOWN|NOAUTH|NOPERM|OOM|MISCONF|NOREPLICAS)\b/.test(words);
}
