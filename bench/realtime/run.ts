/**
 * What a frame of a realtime session costs on its way through, and what a thousand sessions hold. `npm run bench --
 * realtime` prints both.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as rest } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { cpuSeconds, culvertHeaders, loadCore, pin, residentMb, startCulvert } from '../gateway/processes.ts';
import { judged, printed, told } from '../rows.ts';

/** 125 ms of sound, as clients send it: 24,000 samples of 16 bits a second. */
const audio = Buffer.alloc(6_000, 7).toString('base64');
const frame = Buffer.from(`{"type":"input_audio_buffer.append","audio":"${audio}"}`);
const rounds = 5;
const roundMs = 4_000;
const talking = 100;
const open = 1_000;

const upstream = fork(new URL('./upstream.ts', import.meta.url));
const [{ port }] = (await once(upstream, 'message')) as [{ port: number }];
const culvert = await startCulvert({
  upstreamPort: port,
  providers: { up: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'none' } },
  models: { voice: { tier: 'premium', targets: ['up/realtime'] } },
});
pin(upstream.pid!, loadCore);
pin(process.pid, loadCore);

let heard = 0;

async function openSession(): Promise<WebSocket> {
  const url = `ws://127.0.0.1:${culvert.port}/v1/realtime?model=voice`;
  const socket = new WebSocket(url, { headers: culvertHeaders, perMessageDeflate: false });
  socket.on('message', () => {
    heard += 1;
  });
  await once(socket, 'message');
  return socket;
}

const sessions: WebSocket[] = [];
while (sessions.length < talking) sessions.push(await openSession());

/** Each session talks in real time: eight frames a second each way. */
function talk(): NodeJS.Timeout {
  let next = 0;
  return setInterval(() => {
    sessions[next % talking]!.send(frame, { binary: false });
    next += 1;
  }, 1);
}

const talker = talk();
await rest(roundMs);
const microseconds: number[] = [];
for (let round = 0; round < rounds; round += 1) {
  const before = { cpu: cpuSeconds(culvert.pid), heard };
  await rest(roundMs);
  // Each frame that came back has gone up before.
  microseconds.push(((cpuSeconds(culvert.pid) - before.cpu) * 1e6) / (2 * (heard - before.heard)));
}
clearInterval(talker);
console.log(
  printed(told('frames a second, of 8 kB', String(Math.round((2 * heard) / ((roundMs * (rounds + 1)) / 1_000))))),
);
console.log(printed(judged('CPU a frame', microseconds, { atMost: 60, unit: ' µs', digits: 1 })));
while (sessions.length < open) sessions.push(await openSession());
for (const session of sessions) session.send(frame, { binary: false });
await rest(roundMs);
console.log(
  printed(judged('memory with 1,000 sessions', [residentMb(culvert.pid)], { atMost: 300, unit: ' MB', digits: 0 })),
);
for (const session of sessions) session.terminate();
await culvert.stop();
upstream.kill();
