import { createTurns } from '../kernel/sharing/turns.ts';
import type { Exchange } from './exchange.ts';

/** One body at a time: Node would read 2 MB of it before it serves anybody else. */
export const turnBytesMax = 128 * 1024;

/**
 * Bodies that go on in one turn of the loop, which is the process's: 40 bodies side by side would make each turn forty
 * times as long, and a chat needs several.
 */
const turns = createTurns({ name: 'Bodies', places: 4, waitingMax: Number.POSITIVE_INFINITY });

/** When a body of which `turnBytesMax` have come may be read on: it takes turns with those of all accounts. */
export async function nextBodyTurn({ principal }: Exchange): Promise<void> {
  const turn = await turns.take(principal?.account ?? '', null);
  // After the sockets have been looked at.
  setImmediate(turn.giveBack);
}
