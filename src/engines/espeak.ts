import { spawn } from 'node:child_process';
import { lowerPriority } from '../kernel/priority.ts';
import { createTurns, type Turn } from '../kernel/sharing/turns.ts';
import { findTool } from './audio/find-tool.ts';
import { nextStart } from './audio/process-starts.ts';
import { engineCrowded, engineFailed, engineMissing } from './engine-error.ts';
import { type EngineTimer, systemTimer } from './engine-timer.ts';

/** Concurrent processes: a sentence takes one some 16 ms. */
const atOnce = 5;
/** One tenant may have half. */
const waitingMax = 128;
/** For one sentence. One that takes longer hangs. */
const runMs = 20_000;
/** Ten minutes of audio. */
const outputBytesMax = 32 * 1024 * 1024;

/** The system's espeak-ng, a process for each text: its licence (GPL) stays outside. */
export type Espeak = ReturnType<typeof createEspeak>;

/** Path of espeak-ng; null when it is not installed. It looks at a few names, cheap enough for every start. */
export function findEspeak(searchPath: string = process.env.PATH ?? ''): string | null {
  return findTool('espeak-ng', searchPath);
}

export const espeakFix = 'install it (Debian, Ubuntu: apt install espeak-ng)';

export function createEspeak(command: string, timer: EngineTimer = systemTimer) {
  const turns = createTurns({ name: 'Sentences for espeak-ng', places: atOnce, waitingMax, refusal: engineCrowded });
  return {
    /** Its output for a text. Rejects with an EngineError, or the signal's reason. */
    run: (tenant: string, args: readonly string[], text: string, signal: AbortSignal): Promise<Buffer> =>
      turns.run(tenant, signal, async (turn) => {
        if (!turn.alone) await nextStart();
        return runOnce(command, args, text, signal, timer, turn);
      }),
  };
}

function runOnce(
  command: string,
  args: readonly string[],
  text: string,
  signal: AbortSignal,
  timer: EngineTimer,
  { alone }: Turn,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const process = spawn(command, [...args, '--stdin'], { stdio: ['pipe', 'pipe', 'ignore'], env: environment() });
    // A tenant has one process that is as urgent as serving; when the machine is full, its others take from nobody.
    if (!alone) lowerPriority(process.pid);
    const pieces: Buffer[] = [];
    let bytes = 0;
    const end = (error: unknown) => {
      stopTimer();
      signal.removeEventListener('abort', leave);
      // A stopped process takes no other signal.
      process.kill('SIGKILL');
      reject(error);
    };
    const leave = () => end(signal.reason);
    const stopTimer = timer(runMs, () => end(engineFailed(`espeak-ng hung for ${runMs / 1_000} s and was killed`)));
    signal.addEventListener('abort', leave, { once: true });
    process.on('error', (error: NodeJS.ErrnoException) =>
      end(
        error.code === 'ENOENT'
          ? engineMissing(`espeak-ng is no longer installed: ${espeakFix}`)
          : engineFailed(`espeak-ng could not be run (${error.code ?? error.message})`),
      ),
    );
    process.stdout.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > outputBytesMax) end(engineFailed('espeak-ng made more audio than a sentence can have'));
    });
    process.on('close', (code, killedBy) => {
      stopTimer();
      signal.removeEventListener('abort', leave);
      if (code === 0) resolve(Buffer.concat(pieces, bytes));
      else reject(engineFailed(`espeak-ng ended (${killedBy ?? `exit code ${code}`})`));
    });
    // It may have died before it read everything; its end says so.
    process.stdin.on('error', () => {});
    // Plain words: its own phonemes in [[…]] and control characters are not for callers.
    process.stdin.end(text.replaceAll('[[', '[ [').replace(/[^\P{Cc}\n]|[\u2028\u2029]/gu, ' '));
  });
}

function environment(): NodeJS.ProcessEnv {
  // Its texts are UTF-8 whatever the machine's language is.
  return { PATH: process.env.PATH, LANG: 'C.UTF-8' };
}
