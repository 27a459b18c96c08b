import { type SpeechFormat, speechRateHz } from './audio-format.ts';

/**
 * Formats that ffmpeg may open and decode. Playlists (hls, concat, dash) are not among them, because they would read
 * other files of this machine. Video codecs are not either: pictures next to the audio are never decoded.
 */
const demuxers = 'wav,w64,mp3,ogg,flac,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,aac,amr,caf,aiff,au,asf,s16le';
const decoders =
  'mp3float,mp3,mp2float,mp2,aac,aac_fixed,aac_latm,flac,opus,libopus,vorbis,libvorbis,alac,amrnb,amrwb,libopencore_amrnb,libopencore_amrwb,wmav1,wmav2,wmapro,adpcm_ima_wav,adpcm_ms,adpcm_ima_qt,gsm,gsm_ms,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_u8,pcm_s8,pcm_alaw,pcm_mulaw,ac3,eac3';
/** Largest single allocation: a forged header cannot ask for more. */
const allocationBytesMax = 256 * 1024 * 1024;
/** CPU time of one job, enforced by the kernel. */
const cpuSecondsMax = 300;

const base = ['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'error', '-y'];
const bounds = ['-max_alloc', String(allocationBytesMax), '-timelimit', String(cpuSecondsMax)];
const open = ['-format_whitelist', demuxers, '-codec_whitelist', decoders, '-threads', '1'];
const soundOnly = '-map 0:a:0 -vn -sn -dn -map_metadata -1 -threads 1 -filter_threads 1'.split(' ');

/** Speech needs no more; music in these is still fair. */
const encoders: Readonly<Record<Exclude<SpeechFormat, 'wav'>, readonly string[]>> = {
  // No Xing frame and no tags: both would have to be rewritten at the end, which a pipe cannot.
  mp3: ['-c:a', 'libmp3lame', '-b:a', '96k', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
  // Pages of 200 ms, so that the first leaves at once.
  opus: ['-c:a', 'libopus', '-b:a', '48k', '-page_duration', '200000', '-f', 'ogg'],
  flac: ['-c:a', 'flac', '-f', 'flac'],
  aac: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'],
  pcm: ['-c:a', 'pcm_s16le', '-f', 's16le'],
};

/** One conversion. `rateHz` of the input matters for `pcm` alone; every other format says it itself. */
export interface Conversion {
  /** `any`: what ffmpeg recognises. */
  from: { format: SpeechFormat | 'any'; rateHz?: number };
  /** Mono; 24 kHz by default. */
  to: { format: SpeechFormat; rateHz?: number };
  /** Speed of the speech: faster (2) or slower (0.5) at the same pitch. */
  tempo?: number;
}

const demuxerOf: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'mp3',
  opus: 'ogg',
  flac: 'flac',
  aac: 'aac',
  wav: 'wav',
  pcm: 's16le',
};

/** From standard input to standard output. For wav it gives pcm: the caller writes the header. */
export function pipeArguments(conversion: Conversion): string[] {
  const { format, rateHz = speechRateHz } = conversion.from;
  const input = format === 'any' ? [] : ['-f', demuxerOf[format]];
  // Raw samples have no header, so there is nothing to wait for.
  if (format === 'pcm') input.push('-ar', String(rateHz), '-ac', '1', '-probesize', '32', '-analyzeduration', '0');
  // A header written while streaming has no true length.
  if (format === 'wav') input.push('-ignore_length', '1');
  return [
    ...base,
    ...bounds,
    '-protocol_whitelist',
    'pipe',
    ...open,
    ...input,
    '-i',
    'pipe:0',
    ...soundOnly,
    ...output(conversion),
  ];
}

/** From a file to standard output. */
export function fileArguments(path: string, conversion: Omit<Conversion, 'from'>): string[] {
  return [...base, ...bounds, ...readFile(path), ...soundOnly, ...output(conversion)];
}

/** From a file to 32-bit floats of one channel, at most `secondsMax` of them. */
export function decodeArguments(path: string, rateHz: number, secondsMax: number): string[] {
  const floats = ['-t', String(secondsMax), '-ac', '1', '-ar', String(rateHz), '-c:a', 'pcm_f32le', '-f', 'f32le'];
  return [...base, ...bounds, ...readFile(path), ...soundOnly, ...floats, 'pipe:1'];
}

/** Reads the file's packets without decoding them and prints how far they reach. */
export function durationArguments(path: string): string[] {
  const copy = ['-map', '0:a:0', '-vn', '-sn', '-dn', '-c', 'copy', '-f', 'null'];
  return [...base, ...bounds, '-progress', 'pipe:1', ...readFile(path), ...copy, '-'];
}

function readFile(path: string): string[] {
  // `file:` before it, so that no name is taken for an option or a protocol.
  return ['-protocol_whitelist', 'file', ...open, '-i', `file:${path}`];
}

function output({ to, tempo }: Omit<Conversion, 'from'>): string[] {
  const filters = tempo === undefined || tempo === 1 ? [] : ['-filter:a', tempoFilter(tempo)];
  const rate = ['-ac', '1', '-ar', String(to.rateHz ?? speechRateHz)];
  return [...filters, ...rate, ...encoders[to.format === 'wav' ? 'pcm' : to.format], '-flush_packets', '1', 'pipe:1'];
}

/** One atempo goes down to 0.5 only. */
function tempoFilter(tempo: number): string {
  return tempo < 0.5 ? `atempo=0.5,atempo=${tempo / 0.5}` : `atempo=${tempo}`;
}
