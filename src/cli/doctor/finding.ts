/** One line of `culvert doctor`. */
export interface Finding {
  /** What was looked at: `config`, `database`, … */
  check: string;
  state: 'ok' | 'warning' | 'problem';
  message: string;
  /** What to do about it; null where nothing is to be done. */
  fix: string | null;
}

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
