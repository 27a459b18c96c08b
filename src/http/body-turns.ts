import { createTurns } from '../kernel/sharing/turns.ts';
import type { Exchange } from './exchange.ts';

/** One body at a time: Node would read 2 MB of it before it serves anybody else. */
export const turnBytesMax = 128 * 1024;

/**
 * Bodies that go on in one turn of the loop, which is the process's: 40 bodies side by side would make each turn forty
 * times as long, and a chat needs several.
 */
const turns = createTurns({ name: 'Bodies', places: 4, waitingMax: Number.POSITIVE_INFINITY });

/** Pauses a body of which `turnBytesMax` have come until it may be read on: it takes turns with those of all accounts. */
export async function nextBodyTurn(exchange: Exchange): Promise<void> {
  exchange.request.pause();
  await take(exchange);
}

/**
 * Pauses the connection of a body that nobody reads yet until it may be read. Node would pause it when 128 KB wait, and
 * here it ends with what came with the head: forty that begin in one turn of the loop would go on in the next one.
 */
export async function firstBodyTurn(exchange: Exchange): Promise<void> {
  const { socket } = exchange.request;
  socket.pause();
  await take(exchange);
  socket.resume();
}

async function take({ principal }: Exchange): Promise<void> {
  const turn = await turns.take(principal?.account ?? '', null);
  // After the sockets have been looked at.
  setImmediate(turn.giveBack);
}
