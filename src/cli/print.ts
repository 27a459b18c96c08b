/** Whether a list is printed as JSON: on request, and wherever no person reads it (design §16). */
export function listForm(flags: { json?: boolean | undefined }): 'json' | 'table' {
  return flags.json === true || process.stdout.isTTY !== true ? 'json' : 'table';
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** For people beside the result: a pipe that takes stdout does not get it. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
