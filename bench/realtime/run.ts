/**
 * What a frame of a realtime session costs on its way through, beside a relay that is nothing but `ws`, and what a
 * thousand sessions hold. `npm run bench -- realtime` prints them.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as rest } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import {
  answers,
  cpuSeconds,
  culvertHeaders,
  freePort,
  loadCore,
  pin,
  residentMb,
  startCulvert,
  startPinned,
} from '../gateway/processes.ts';
import { finish } from '../results.ts';
import { judged, print, told } from '../rows.ts';

const framesPerSecond = 8;
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

const barePort = await freePort();
const bareScript = fileURLToPath(new URL('./bare-relay.ts', import.meta.url));
const bare = startPinned(process.execPath, [bareScript, String(barePort), String(port)], 'ignore');
await answers(barePort);

/** A process that relays, and the sessions through it. */
class Relay {
  readonly sessions: WebSocket[] = [];
  heard = 0;
  readonly #port: number;
  readonly #pid: number;

  constructor(port: number, pid: number) {
    this.#port = port;
    this.#pid = pid;
  }

  async open(count: number): Promise<void> {
    const url = `ws://127.0.0.1:${this.#port}/v1/realtime?model=voice`;
    while (this.sessions.length < count) {
      const socket = new WebSocket(url, { headers: culvertHeaders, perMessageDeflate: false });
      socket.on('message', () => {
        this.heard += 1;
      });
      await once(socket, 'message');
      this.sessions.push(socket);
    }
  }

  /** Each session talks in real time, each frame both ways. Microseconds of CPU a frame. */
  async talk(): Promise<number> {
    let sent = 0;
    const startMs = performance.now();
    const talker = setInterval(() => {
      // A timer may be late: all that is due goes.
      const due = ((performance.now() - startMs) / 1_000) * talking * framesPerSecond;
      for (; sent < due; sent += 1) this.sessions[sent % talking]!.send(frame, { binary: false });
    }, 1);
    const before = { cpu: cpuSeconds(this.#pid), heard: this.heard };
    await rest(roundMs);
    clearInterval(talker);
    // Each frame that came back has gone up before.
    return ((cpuSeconds(this.#pid) - before.cpu) * 1e6) / (2 * (this.heard - before.heard));
  }
}

const relays = { culvert: new Relay(culvert.port, culvert.pid), bare: new Relay(barePort, bare.pid!) };
const microseconds = { culvert: [] as number[], bare: [] as number[] };
for (const relay of Object.values(relays)) await relay.open(talking);
await Promise.all(Object.values(relays).map((relay) => relay.talk()));
const { heard: heardBefore } = relays.culvert;
// At once: whatever else the machine does slows both, and V8 collects in a process that has just fallen silent.
for (let round = 0; round < rounds; round += 1) {
  await Promise.all(
    (['culvert', 'bare'] as const).map(async (name) => microseconds[name].push(await relays[name].talk())),
  );
}
const perSecond = (2 * (relays.culvert.heard - heardBefore)) / ((roundMs * rounds) / 1_000);
const rows = [
  told('frames a second, of 8 kB', String(Math.round(perSecond))),
  judged('CPU a frame', microseconds.culvert, { atMost: 60, unit: ' µs', digits: 1 }),
  judged('… through a bare relay of ws', microseconds.bare, { unit: ' µs', digits: 1 }),
];
for (const session of relays.bare.sessions) session.terminate();
bare.kill();
const { sessions } = relays.culvert;
await relays.culvert.open(open);
for (const session of sessions) session.send(frame, { binary: false });
await rest(roundMs);
rows.push(judged('memory with 1,000 sessions', [residentMb(culvert.pid)], { atMost: 300, unit: ' MB', digits: 0 }));
for (const session of sessions) session.terminate();
await culvert.stop();
upstream.kill();
print(rows);
finish({
  subject: 'realtime',
  command: 'npm run bench -- realtime',
  how: 'Sessions whose every frame comes back, through Culvert and through a bare relay of the same package at once. Caller\nand provider are processes of their own.',
  rows,
});
