import { FailureError } from '../../kernel/failure.ts';

/** A 501: `what` says what is missing, `instead` what to do. Never silently ignored. */
export function refuseUnsupported(at: string, what: string, instead: string): never {
  throw new FailureError({ kind: 'unsupported', message: `${at}: ${what} not supported; ${instead}.` });
}
