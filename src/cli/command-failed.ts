/** Refusal of a server: the status, and the field of the request that it is about. */
export interface Refusal {
  status: number;
  param: string | null;
}

/** Ends a command with one sentence on stderr. Exit code 1: it failed; 2: the call was wrong. */
export class CommandFailed extends Error {
  readonly exitCode: 1 | 2;
  readonly refusal: Refusal | null;
  constructor(sentence: string, exitCode: 1 | 2 = 1, refusal: Refusal | null = null) {
    super(sentence);
    this.exitCode = exitCode;
    this.refusal = refusal;
  }
}

/** Code of an error of the system, such as ENOENT; of another error its text. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

export function unreadable(file: string, error: unknown): CommandFailed {
  const code = codeOf(error);
  return new CommandFailed(code === 'ENOENT' ? `There is no file ${file}.` : `${file} cannot be read (${code}).`);
}

export function unwritable(file: string, error: unknown): CommandFailed {
  const code = codeOf(error);
  return new CommandFailed(
    `${file} cannot be written${code === 'ENOENT' ? ': its folder does not exist' : ` (${code})`}.`,
  );
}
