import type { Finding } from '../../admin/finding.ts';

export type { Finding };

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message, fix: null };
}

/** Works, but not as well or as safely as it could. */
export function warning(check: string, message: string, fix: string): Finding {
  return { check, state: 'warning', message, fix };
}

/** A start would be refused, or requests fail. */
export function problem(check: string, message: string, fix: string): Finding {
  return { check, state: 'problem', message, fix };
}
