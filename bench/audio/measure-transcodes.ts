import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createTranscoder, type Transcoder } from '../../src/engines/audio/transcode.ts';
import { judged, type Row, told } from '../rows.ts';
import { voicePcm } from './sound.ts';

const atOnce = 50;
const pieceBytes = 48_000;

/** Fifty at once, as fast as they are taken, in this process: its loop feels what a gateway's would. */
export async function measureTranscodes(mode: 'quick' | 'full'): Promise<Row[]> {
  const shared = createTranscoder({ searchPath: process.env.PATH ?? '' });
  const transcoder = { ...shared, ...shared.of('bench') };
  const pcm = voicePcm(mode === 'quick' ? 10 : 30);
  await transcode(transcoder, pcm);
  const p99: number[] = [];
  const max: number[] = [];
  const seconds: number[] = [];
  for (let round = 0; round < (mode === 'quick' ? 1 : 3); round += 1) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: atOnce }, () => transcode(transcoder, pcm)));
    seconds.push((performance.now() - startedMs) / 1_000);
    delay.disable();
    p99.push(delay.percentile(99) / 1e6);
    max.push(delay.max / 1e6);
  }
  await transcoder.close();
  const spoken = (atOnce * pcm.length) / pieceBytes;
  return [
    judged(`event-loop delay p99, ${atOnce} transcodes to mp3 at once`, p99, { atMost: 20, unit: ' ms', digits: 1 }),
    told('… its maximum', `${Math.max(...max).toFixed(0)} ms`),
    told('… sound converted a second, all cores', `${(spoken / Math.min(...seconds)).toFixed(0)} s`),
  ];
}

async function transcode(transcoder: Transcoder, pcm: Buffer): Promise<void> {
  const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } });
  const ended = once(stream.resume(), 'end');
  for (let at = 0; at < pcm.length; at += pieceBytes)
    if (!stream.write(pcm.subarray(at, at + pieceBytes))) await once(stream, 'drain');
  stream.end();
  await ended;
}
