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
