import { isatty } from 'node:tty';

/** Which of stdin, stdout and stderr were a terminal at the start; none under `nohup`, which Node hides otherwise. */
const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

/**
 * Whether the terminal of this process is gone. A SIGHUP then says that its user has left; any other one asks to read
 * the configuration again.
 */
export function terminalClosed(): boolean {
  return terminals.length > 0 && !terminals.some((descriptor) => isatty(descriptor));
}
