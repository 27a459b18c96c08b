import type { ChildProcess, spawn as nodeSpawn } from 'node:child_process';
import { Readable, type Writable } from 'node:stream';
import { lowerPriority } from '../../kernel/priority.ts';

/** How a process ended. */
export interface Ending {
  /** Null when a signal ended it, or it never started. */
  code: number | null;
  signal: string | null;
  /** The end of its stderr. */
  complaint: string;
}

export interface FfmpegProcess {
  /** Null when it was started without one. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  /** Resolved once it is gone and all that it wrote was read; never rejected. */
  readonly ended: Promise<Ending>;
  readonly hasEnded: () => boolean;
  /** From here on it has the processor only when nobody else wants it. */
  giveWay(): void;
  kill(): void;
}

export type Spawn = typeof nodeSpawn;

const complaintBytesMax = 4096;

export function startFfmpeg(
  spawn: Spawn,
  program: string,
  args: readonly string[],
  input: 'pipe' | 'ignore',
): FfmpegProcess {
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
    stdin: child.stdin ?? null,
    // Out of file descriptors there is none.
    stdout: child.stdout ?? Readable.from([]),
    ended,
    hasEnded: () => hasEnded,
    giveWay() {
      if (!hasEnded) lowerPriority(child.pid);
    },
    // SIGKILL: it also ends a stopped process, and there is nothing to save.
    kill: () => child.kill('SIGKILL'),
  };
}
