import { NewerSchema } from '../migration.ts';
import { sqlState } from './database.ts';

/**
 * Why PostgreSQL cannot be used at a start, as a sentence without user or password, when that is what `error` says.
 * Null for every other error, which is a defect of ours and deserves its stack.
 */
export function whyUnusable(error: unknown, place: string): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof NewerSchema) return `${error.message}.`;
  const hint = 'Repair it, or name another database (storage.database).';
  const state = sqlState(error);
  if (state !== null) {
    const why = wordsOfState[state] ?? wordsOfClass[state.slice(0, 2)];
    return why === undefined ? null : `The database ${place} cannot be used: ${why} (SQLSTATE ${state}). ${hint}`;
  }
  const tls = whyNoTls(error);
  if (tls !== null) return `The database ${place} cannot be used: ${tls}`;
  const code = socketCode(error);
  if (code !== null) return `The database ${place} cannot be reached: ${wordsOfSocket[code] ?? code}. ${hint}`;
  if (/terminated|timeout|SSL|SASL/i.test(error.message))
    return `The database ${place} cannot be reached: ${error.message}. ${hint}`;
  return null;
}

/** Whether it may be usable in a moment: not there yet, starting, or full. A wrong password stays wrong. */
export function mayPass(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return state === '53300' || state.startsWith('57') || state.startsWith('08');
  return !(error instanceof NewerSchema) && !(error instanceof Error && whyNoTls(error) !== null);
}

/** `sslmode` of the URL asks for something that is not available; waiting does not help. */
function whyNoTls(error: Error): string | null {
  const { message } = error;
  if (/does not support SSL/.test(message)) return 'it does not support TLS. Leave sslmode out of storage.database.';
  if ('syscall' in error && error.syscall === 'open')
    return `a file that storage.database names cannot be read (${message}).`;
  const code = 'code' in error ? String(error.code) : '';
  if (!/CERT|TLS|SIGNATURE/.test(code) && !/certificate/i.test(message)) return null;
  return `its certificate is refused (${message}). Name its CA in storage.database (?sslmode=verify-full&sslrootcert=/path/to/ca.pem), and the host as the certificate does.`;
}

/** Both addresses of a name that has two may have refused: then the error holds theirs. */
function socketCode(error: Error): string | null {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error) || !('code' in first) || !('syscall' in first)) return null;
  // A server of ours that cannot listen is not a fault of the database.
  if (first.syscall === 'listen' || first.syscall === 'bind') return null;
  return String(first.code);
}

const wordsOfSocket: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up now',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ECONNRESET: 'it closed the connection',
};

const wordsOfState: Readonly<Record<string, string>> = {
  '28P01': 'the password is wrong',
  '28000': 'this user may not connect',
  '3D000': 'there is no such database',
  '42501': 'this user may not create or use the schema culvert',
  '25006': 'it is read-only',
  '57P03': 'it is starting up or shutting down',
  '53300': 'it has no connection left',
};

/** Connection exceptions, authorization, resources, operator's intervention, its own disk. */
const wordsOfClass: Readonly<Record<string, string>> = {
  '08': 'the connection failed',
  '28': 'this user may not connect',
  '53': 'it is short of resources',
  '57': 'it was interrupted',
  '58': 'its disk or system fails',
};
