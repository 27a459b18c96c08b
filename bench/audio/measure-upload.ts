import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { wavHeader } from '../../src/engines/audio/wav.ts';
import { type Subject, startCulvert } from '../gateway/processes.ts';
import { judged, type Row, told } from '../rows.ts';
import { voicePcm } from './sound.ts';

/** The file alone; its form around it must stay below the limit too. */
const fileBytes = 100_000_000;
const rateHz = 16_000;

/** A service that takes every upload to its end and answers one word. */
export async function startTranscriber(): Promise<{ port: number; taken(): number; stop(): void }> {
  let bytes = 0;
  const server = createServer(async (request, response) => {
    for await (const chunk of request) bytes += (chunk as Buffer).length;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ text: 'word', language: 'en', duration: fileBytes / rateHz / 2, segments: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    taken: () => bytes,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Peak of the gateway's memory during one upload, above its level before. */
export async function measureUpload(mode: 'quick' | 'full'): Promise<Row[]> {
  const upstream = await startTranscriber();
  const culvert = await startCulvert({
    upstreamPort: upstream.port,
    providers: { stt: { type: 'openai', base_url: `http://127.0.0.1:${upstream.port}/v1`, api_key: 'upstream-key' } },
    models: { ears: { type: 'transcription', tier: 'premium', targets: [{ provider: 'stt', model: 'whisper-1' }] } },
  });
  try {
    const second = voicePcm(1, rateHz);
    const form = (seconds: number) => upload(culvert, second, seconds);
    // A small one first: code and buffers of the first use are not the upload's.
    for (let i = 0; i < 3; i += 1) await form(10);
    const extra: number[] = [];
    for (let round = 0; round < (mode === 'quick' ? 1 : 3); round += 1) {
      const before = memoryMb(culvert.pid, 'VmRSS');
      resetPeak(culvert.pid);
      await form(Math.floor((fileBytes - 44) / second.length));
      extra.push(memoryMb(culvert.pid, 'VmHWM') - before);
    }
    return [
      judged('100 MB upload, transcribed: extra memory at its peak', extra, { atMost: 30, unit: ' MB', digits: 0 }),
      judged('… of the very first one, in which the heap grows to its working size', extra.slice(0, 1), {
        atMost: 30,
        unit: ' MB',
        digits: 0,
      }),
      told('… of it passed on to the service', `${(upstream.taken() / 1e6 / extra.length).toFixed(0)} MB each`),
    ];
  } finally {
    await culvert.stop();
    upstream.stop();
  }
}

async function upload(culvert: Subject, second: Buffer, seconds: number): Promise<void> {
  const boundary = 'culvert-bench-boundary';
  const head = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nears\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="speech.wav"\r\ncontent-type: audio/wav\r\n\r\n`,
  );
  async function* body() {
    yield head;
    yield wavHeader({ rateHz, channels: 1 }, seconds * second.length);
    for (let i = 0; i < seconds; i += 1) yield second;
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  const response = await fetch(`http://127.0.0.1:${culvert.port}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { ...culvert.headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: body(),
    duplex: 'half',
  } as RequestInit);
  const text = await response.text();
  if (!response.ok) throw new Error(`transcription: ${response.status} ${text}`);
}

function memoryMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const found = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1]) / 1_024;
}

/** From here on VmHWM is the peak of the following work. */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
