import type { LocalServer } from '../formats/providers/probe-local.ts';

/** Asks whether to use local servers that were found. One keypress confirms; anything else leaves them alone. */
export function askAboutLocals(found: readonly LocalServer[], use: (locals: LocalServer[]) => void): void {
  const usable = found.filter(({ note, use }) => note === null && use !== 'listed');
  if (usable.length === 0) return;
  process.stdout.write(`Use ${usable.map(({ title }) => title).join(', ')}? [y/N] `);
  process.stdin.setRawMode(true);
  process.stdin.once('data', (key: Buffer) => {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    const answer = key.toString().toLowerCase();
    process.stdout.write(`${answer === 'y' ? 'yes' : 'no'}\n`);
    if (answer === 'y') use(usable);
    // Raw mode swallows Ctrl-C.
    if (answer === '\u0003') process.kill(process.pid, 'SIGINT');
  });
}
