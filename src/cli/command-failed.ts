/** Ends a command with one sentence on stderr. Exit code 1: it failed; 2: the call was wrong. */
export class CommandFailed extends Error {
  readonly exitCode: 1 | 2;
  constructor(sentence: string, exitCode: 1 | 2 = 1) {
    super(sentence);
    this.exitCode = exitCode;
  }
}
