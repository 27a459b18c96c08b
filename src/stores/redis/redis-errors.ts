/** Words of Redis, or the reason for its silence, without addresses and passwords. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The name of the script is of no use to an operator, and would make many troubles of one.
  const message = error.message.replace(/,? script: [0-9a-f]{40}, on @user_script:\d+\.?$/, '').trim() || error.name;
  return message.replace(/^(MOVED|ASK) (\d+) .*/, '$1: slot $2 is on another server');
}

/** Whether another server may have the keys, such as the one to which a cluster moved their slot. */
export function isElsewhere(words: string): boolean {
  return /(^|: -)(READONLY|LOADING|MASTERDOWN|MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/.test(words);
}

/**
 * Whether a server with this answer cannot serve us now, whatever it is asked; another connection may find one that
 * can. Redis 6 reports a script's error in a sentence with the code within.
 */
export function cannotServe(words: string): boolean {
  return isElsewhere(words) || /(^|: -)(NOAUTH|NOPERM|OOM|MISCONF|NOREPLICAS)\b/.test(words);
}
