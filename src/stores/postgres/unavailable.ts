import { FailureError } from '../../kernel/failure.ts';
import { isRowsFault, sqlState } from './database.ts';

/** Words for an error of the server or its connection, without host and user. */
export function reasonOf(error: unknown): string {
  const state = sqlState(error);
  if (state !== null) return `PostgreSQL refuses it (SQLSTATE ${state})`;
  return 'PostgreSQL cannot be reached';
}

/** Passes a result on. An unreachable database becomes a FailureError `quota-unavailable`; a defect stays as it is. */
export async function unavailable<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof FailureError || isRowsFault(error) || isDefect(error)) throw error;
    throw new FailureError({
      kind: 'quota-unavailable',
      message: `The database cannot be used now (${reasonOf(error)}). Retry it.`,
    });
  }
}

/** Rejects after `timeoutMs`, as for a server that does not answer. A later answer is ignored. */
export function inTime<T>(result: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('timeout')), timeoutMs);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** SQL that does not fit its tables (class 42), or code of ours that threw. */
function isDefect(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return state.startsWith('42');
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}
