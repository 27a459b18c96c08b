import type { Subject } from '../gateway/processes.ts';
import { judged, type Row, told } from '../rows.ts';

const sentences = 'The first sentence is what you wait for. The second one comes while you listen to it.';

/** Espeak speaks in the gateway; what mp3 adds to it is the encoder. */
export async function measureFirstByte(culvert: Subject, mode: 'quick' | 'full'): Promise<Row[]> {
  // The engine's own first use is not the encoder's.
  for (let i = 0; i < 3; i += 1) await firstByteMs(culvert, 'pcm');
  const cold: number[] = [];
  const rounds = mode === 'quick' ? 5 : 25;
  // Three kinds by turns: only two encoders are kept waiting, so none of them waits for its own.
  for (let round = 0; round < rounds; round += 1)
    for (const format of ['opus', 'aac', 'mp3'] as const) {
      const pcmMs = await firstByteMs(culvert, 'pcm');
      await pause();
      cold.push((await firstByteMs(culvert, format)) - pcmMs);
    }
  const pcm: number[] = [];
  const mp3: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    pcm.push(await firstByteMs(culvert, 'pcm'));
    // Callers pause; what waits for the next of them has started by then.
    await pause();
    mp3.push(await firstByteMs(culvert, 'mp3'));
  }
  const added = mp3.map((ms, round) => ms - (pcm[round] ?? 0));
  return [
    told('first byte of speech as the engine makes it (pcm), p50', `${middle(pcm).toFixed(0)} ms`),
    judged('… as mp3: over it, the encoder waiting', added, { atMost: 80, unit: ' ms', digits: 0 }),
    judged('… as mp3, opus or aac: over it, the encoder started for it', cold, { atMost: 80, unit: ' ms', digits: 0 }),
  ];
}

async function firstByteMs(culvert: Subject, format: 'mp3' | 'opus' | 'aac' | 'pcm'): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(`http://127.0.0.1:${culvert.port}/v1/audio/speech`, {
    method: 'POST',
    headers: { ...culvert.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'voice', voice: 'alloy', input: sentences, response_format: format }),
  });
  if (!response.ok || response.body === null) throw new Error(`speech: ${response.status} ${await response.text()}`);
  let ms = 0;
  for await (const _ of response.body) if (ms === 0) ms = performance.now() - startedMs;
  return ms;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 150));
}

function middle(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
