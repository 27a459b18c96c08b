import { connect, type Socket } from 'node:net';
import { chatOnce } from './gateway-process.ts';

const one = 'GET /nowhere HTTP/1.1\r\nHost:x\r\n\r\n';
/** One write of 60 KB of requests, none of which waits for an answer. */
const burst = one.repeat(Math.floor(60_000 / one.length));
const rounds = 3;
const chatsARound = 5;

/** The longest that a chat beside `connections` such writes took, in ms, of each round. */
export async function longestBesideBursts(url: string, connections: number): Promise<number[]> {
  const longest: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const sockets = await Promise.all(Array.from({ length: connections }, () => connected(url)));
    for (const socket of sockets) socket.write(burst);
    let longestMs = 0;
    for (let i = 0; i < chatsARound; i++) longestMs = Math.max(longestMs, (await chatOnce(url)).ms);
    longest.push(longestMs);
    for (const socket of sockets) socket.destroy();
  }
  return longest;
}

function connected(url: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
    socket.resume();
  });
}
