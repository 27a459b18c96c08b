import { spawn as nodeSpawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { addAbortSignal, type Duplex } from 'node:stream';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { ffmpegMissing } from './audio-fault.ts';
import { type SpeechFormat, speechRateHz } from './audio-format.ts';
import { decodeFile, type FfmpegJobs, probeDurationMs, type TranscoderLimits } from './decode-file.ts';
import { type Conversion, fileArguments, pipeArguments } from './ffmpeg-arguments.ts';
import { type FfmpegProcess, type Spawn, startFfmpeg } from './ffmpeg-process.ts';
import { findTool } from './find-tool.ts';
import { createSlots } from './process-slots.ts';
import { ProcessStream } from './process-stream.ts';
import { wavHeader } from './wav.ts';
import { plainConversion } from './wav-stream.ts';

/** The processes that convert and decode audio, shared in turn by all tenants. */
export type SharedTranscoder = ReturnType<typeof createTranscoder>;

/** Converts and decodes audio: wav, pcm and flac made of them in this process, everything else through ffmpeg. */
export interface Transcoder {
  /**
   * One stream: write bytes of `from`, and read bytes of `to` as they come. It starts at once, so make it before the
   * first bytes are there. It fails with an AudioFault, or with a FailureError (`unsupported`, `overloaded`), and ends
   * cleanly only when all was converted.
   */
  transcode(conversion: Conversion, signal?: AbortSignal): Duplex;
  /** A whole file in another format; only to be read. Fails as `transcode` does. */
  transcodeFile(path: string, conversion: Omit<Conversion, 'from'>, signal?: AbortSignal): Duplex;
  /**
   * A file's audio as one channel of floats, in pieces as they come. The file may be anything that ffmpeg reads. The
   * loop throws an AudioFault or FailureError. A file longer than `decodedSecondsMax` is `too-long`, at its end.
   */
  decodeFile(path: string, options: { rateHz: number; signal?: AbortSignal }): AsyncGenerator<Float32Array, void>;
  /** Ms of sound in a file, counted from its packets and not believed from its header; wav, mp3, aac and flac need no ffmpeg. */
  probeDurationMs(path: string, signal?: AbortSignal): Promise<number>;
}

export interface TranscoderOptions extends Partial<TranscoderLimits> {
  /** Folders where ffmpeg is looked for, written as PATH is. */
  searchPath: string;
  spawn?: Spawn;
}

const defaults: TranscoderLimits = {
  // A stream's ffmpeg mostly waits for the voice; a file's works until it is done.
  streams: { runningMax: 64, tenantBusyMax: 2 * availableParallelism(), waitingMax: 512 },
  files: { runningMax: 16, tenantBusyMax: availableParallelism(), waitingMax: 512 },
  warmMax: 2,
  warmIdleMs: 120_000,
  stallMs: 15_000,
  doubtMs: 2_000,
  urgentMs: 1_000,
  lifeMs: 3_600_000,
  outputBytesMax: 512 * 1024 * 1024,
  decodedSecondsMax: 6 * 3600,
};

export function createTranscoder(options: TranscoderOptions) {
  const limits: TranscoderLimits = { ...defaults, ...options };
  const spawn = options.spawn ?? nodeSpawn;
  const slots = { piped: createSlots(limits.streams), none: createSlots(limits.files) };
  const warm = createWarmProcesses({ max: limits.warmMax, idleMs: limits.warmIdleMs });
  const closing = new AbortController();
  const running = new Set<FfmpegProcess>();
  let found: string | null = null;
  // Looked for again until it is there, so that installing it needs no restart.
  const program = () => {
    found ??= findTool('ffmpeg', options.searchPath);
    return found;
  };

  const jobsOf = (tenant: string): FfmpegJobs => ({
    limits,
    hasFfmpeg: () => program() !== null,
    stream(need, args, input, { signal, head, keepWarm }) {
      const lease = async (unwanted: AbortSignal) => {
        const file = program();
        if (file === null) throw new FailureError(ffmpegMissing(need));
        const slot = await slots[input].take(tenant, AbortSignal.any([unwanted, closing.signal]));
        const key = args.join(' ');
        const start = () => startFfmpeg(spawn, file, args, input === 'piped' ? 'pipe' : 'ignore');
        const begin = (process: FfmpegProcess) => {
          running.add(process);
          // A tenant has one process that is as urgent as serving. When the machine is full, its others take from
          // nobody.
          if (!slot.alone) process.giveWay();
          return process;
        };
        const waited = warm.take(key);
        let process = begin(waited ?? start());
        const replace = () => {
          const stopped = process;
          process = begin(start());
          stopped.kill();
          stopped.ended.then(() => running.delete(stopped));
        };
        const armNext = () => {
          if (keepWarm === 'yes' && slots[input].hasRoom(tenant)) warm.arm(key, start);
        };
        return {
          get process() {
            return process;
          },
          replace: waited === null ? null : replace,
          setBusy: slot.setBusy,
          // Not at the end of the job, because the next one may be here already.
          begun: armNext,
          release(outcome: 'ended-well' | 'failed') {
            running.delete(process);
            slot.giveBack();
            if (outcome === 'ended-well') armNext();
            // It may have been removed, or put elsewhere.
            if (outcome === 'failed') found = null;
          },
        };
      };
      return new ProcessStream(lease, limits, { input, signal, head });
    },
  });

  const transcoderOf = (jobs: FfmpegJobs): Transcoder => ({
    transcode(conversion, signal) {
      const convertHere = builtInConversion(conversion);
      if (convertHere !== null) return signal === undefined ? convertHere() : addAbortSignal(signal, convertHere());
      return jobs.stream(needOf(conversion.to.format), pipeArguments(conversion), 'piped', {
        signal,
        head: headOf(conversion.to),
        // Every tempo would be a separate process.
        keepWarm: conversion.tempo === undefined ? 'yes' : 'no',
      });
    },
    transcodeFile: (path, conversion, signal) =>
      jobs.stream(needOf(conversion.to.format), fileArguments(path, conversion), 'none', {
        signal,
        head: headOf(conversion.to),
      }),
    decodeFile: (path, { rateHz, signal }) => decodeFile(jobs, path, rateHz, signal),
    probeDurationMs: (path, signal) => probeDurationMs(jobs, path, signal),
  });

  return {
    /** Tenant of the jobs. */
    of: (tenant: string): Transcoder => transcoderOf(jobsOf(tenant)),
    /** Why this conversion cannot be made on this machine (501, naming what to install); null: it can. */
    refusal: (conversion: Conversion): Failure | null =>
      builtInConversion(conversion) !== null || program() !== null ? null : ffmpegMissing(needOf(conversion.to.format)),
    async close(): Promise<void> {
      closing.abort(new FailureError({ kind: 'overloaded', message: 'The gateway is shutting down.' }));
      const ends = [...running].map((process) => {
        process.kill();
        return process.ended;
      });
      await Promise.all([...ends, warm.close()]);
    },
  };
}

function needOf(format: SpeechFormat): string {
  return `Converting audio to ${format}`;
}

function headOf({ format, rateHz = speechRateHz }: Conversion['to']): Buffer | undefined {
  return format === 'wav' ? wavHeader({ rateHz, channels: 1 }, null) : undefined;
}

/** Null where ffmpeg is needed. */
function builtInConversion({ from, to, tempo }: Conversion): (() => Duplex) | null {
  const { format, rateHz = speechRateHz } = to;
  if (from.format !== 'wav' && from.format !== 'pcm') return null;
  if (format !== 'wav' && format !== 'pcm' && format !== 'flac') return null;
  if (tempo !== undefined && tempo !== 1) return null;
  const source = from.format === 'wav' ? from.format : { rateHz: from.rateHz ?? speechRateHz };
  return () => plainConversion(source, { format, rateHz });
}

/**
 * Processes that were started ahead and wait for their first input: they answer 50 ms sooner than a new one.
 * At most `max` wait; the oldest one makes room. Each ends when nobody took it for `idleMs`.
 */
function createWarmProcesses(limits: { max: number; idleMs: number }) {
  const waiting = new Map<string, { process: FfmpegProcess; idle: NodeJS.Timeout }>();
  let closed = false;
  const remove = (key: string) => {
    const entry = waiting.get(key);
    if (entry === undefined) return null;
    waiting.delete(key);
    clearTimeout(entry.idle);
    return entry.process;
  };
  return {
    /** One that waits under this key, and no longer belongs to the pool; null: none. */
    take(key: string): FfmpegProcess | null {
      const process = remove(key);
      return process === null || process.hasEnded() ? null : process;
    },
    /** Makes sure that one waits under this key, for a while. */
    arm(key: string, start: () => FfmpegProcess): void {
      if (closed || limits.max === 0) return;
      const there = waiting.get(key);
      if (there !== undefined && !there.process.hasEnded()) {
        there.idle.refresh();
        return;
      }
      remove(key);
      const oldest = waiting.size >= limits.max ? waiting.keys().next() : null;
      if (oldest !== null && !oldest.done) remove(oldest.value)?.kill();
      const process = start();
      const idle = setTimeout(() => remove(key)?.kill(), limits.idleMs);
      idle.unref();
      waiting.set(key, { process, idle });
    },
    async close(): Promise<void> {
      closed = true;
      await Promise.all(
        [...waiting.keys()].map((key) => {
          const process = remove(key);
          process?.kill();
          return process?.ended;
        }),
      );
    },
  };
}
