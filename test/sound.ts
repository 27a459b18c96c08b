import { spawnSync } from 'node:child_process';
import { findTool } from '../src/engines/audio/find-tool.ts';

/** A sine of this pitch as s16le of one channel. */
export function tonePcm(ms: number, options: { rateHz?: number; pitchHz?: number } = {}): Buffer {
  const { rateHz = 24_000, pitchHz = 440 } = options;
  const samples = Math.round((ms * rateHz) / 1000);
  const bytes = Buffer.alloc(samples * 2);
  for (let i = 0; i < samples; i += 1)
    bytes.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * pitchHz * i) / rateHz)), i * 2);
  return bytes;
}

/** How often the sound crosses zero upwards in a second, which is a tone's pitch. */
export function pitchHzOf(samples: Float32Array, rateHz: number): number {
  let crossings = 0;
  for (let i = 1; i < samples.length; i += 1) if ((samples[i - 1] ?? 0) < 0 && (samples[i] ?? 0) >= 0) crossings += 1;
  return (crossings * rateHz) / samples.length;
}

/** The name by which a test is skipped where a tool is missing, or false. */
export function missingTool(...names: string[]): string | false {
  const missing = names.filter((name) => findTool(name, process.env.PATH ?? '') === null);
  return missing.length === 0 ? false : `${missing.join(' and ')} is not installed`;
}

/** ffprobe's view of these bytes; the duration is that of the packets that are really there. */
export function probeBytes(bytes: Buffer): { codec: string; rateHz: number; channels: number; durationMs: number } {
  const probe = spawnSync(
    'ffprobe',
    [
      ...['-v', 'error', '-show_entries', 'stream=codec_name,sample_rate,channels:packet=pts_time,duration_time'],
      ...['-of', 'json', '-i', 'pipe:0'],
    ],
    { input: bytes, maxBuffer: 64 * 1024 * 1024 },
  );
  if (probe.status !== 0) throw new Error(`ffprobe: ${probe.stderr}`);
  const { streams, packets } = JSON.parse(probe.stdout.toString()) as {
    streams: { codec_name: string; sample_rate: string; channels: number }[];
    packets: { pts_time?: string; duration_time?: string }[];
  };
  const stream = streams[0];
  if (stream === undefined) throw new Error('ffprobe sees no stream.');
  const seconds = packets.reduce((sum, packet) => sum + Number(packet.duration_time ?? 0), 0);
  return {
    codec: stream.codec_name,
    rateHz: Number(stream.sample_rate),
    channels: stream.channels,
    durationMs: seconds * 1000,
  };
}
