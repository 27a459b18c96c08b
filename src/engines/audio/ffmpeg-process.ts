import type { ChildProcess, spawn as nodeSpawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { lowerPriority } from '../../kernel/priority.ts';

export interface Ending {
  /** Null when a signal ended it, or it never started. */
  code: number | null;
  signal: string | null;
  /** The end of its stderr. */
  complaint: string;
}

export type FfmpegProcess = ReturnType<typeof startFfmpeg>;

export type Spawn = typeof nodeSpawn;

const complaintBytesMax = 4096;

export function startFfmpeg(spawn: Spawn, program: string, args: readonly string[], input: 'pipe' | 'ignore') {
  // Nothing of our environment: it holds keys, and ffmpeg needs none of it.
  const child: ChildProcess = spawn(program, args, { stdio: [input, 'pipe', 'pipe'], env: { LANG: 'C' } });
  let complaint = '';
  let hasEnded = false;
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  const end = (code: number | null, signal: string | null) => {
    hasEnded = true;
    resolve({ code, signal, complaint });
  };
  child.on('error', (error) => {
    if (child.pid === undefined) {
      complaint = error.message;
      end(null, null);
    }
  });
  child.on('close', end);
  // A failed write to its input is not its fault: its exit says why.
  child.stdin?.on('error', () => {});
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-complaintBytesMax);
  });
  return {
    /** Null when it was started without one. */
    stdin: child.stdin ?? null,
    // Out of file descriptors there is none.
    stdout: child.stdout ?? Readable.from([]),
    /** Resolved once it is gone and all that it wrote was read; never rejected. */
    ended,
    hasEnded: () => hasEnded,
    /** From here on it has the processor only when nobody else wants it. */
    giveWay(): void {
      if (!hasEnded) lowerPriority(child.pid);
    },
    // SIGKILL: it also ends a stopped process, and there is nothing to save.
    kill(): void {
      child.kill('SIGKILL');
    },
  };
}
