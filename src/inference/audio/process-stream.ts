import { Duplex } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import { endingFault } from './ending-fault.ts';
import type { FfmpegProcess } from './ffmpeg-process.ts';

/** A process for one job, and what to do when it is over. */
export interface Lease {
  process: FfmpegProcess;
  /** Told whenever it changes whether the process has work to do. */
  setBusy(state: 'busy' | 'idle'): void;
  /** Called once, when the process gives its first output. */
  begun(): void;
  /** Called once, when the process is gone. */
  release(outcome: 'ended-well' | 'failed'): void;
}

export interface StreamBounds {
  /** Longest time in which ffmpeg may do nothing while something is owed to us. */
  stallMs: number;
  /** Longest life of one job. */
  lifeMs: number;
  /** Most that one job may give out. */
  outputBytesMax: number;
}

const bufferBytes = 64 * 1024;
/** How long a process that has not been given anything yet counts as starting. */
const startingMs = 250;

/**
 * A process as a stream: what is written goes to its stdin, what is read comes from its stdout, with backpressure both
 * ways. It ends cleanly only when ffmpeg exited with 0; otherwise it is destroyed with an AudioFault (or with what
 * `lease` was rejected with). `head` is put before the first output. Destroying it, or aborting the signal that it was
 * made with, kills the process.
 */
export function processStream(
  lease: (signal: AbortSignal) => Promise<Lease>,
  bounds: StreamBounds,
  options: { input: 'piped' | 'none'; signal?: AbortSignal | undefined; head?: Buffer | undefined },
): Duplex {
  const waitingForSlot = new AbortController();
  let leased: Lease | null = null;
  let onceThere: ((process: FfmpegProcess) => void)[] = [];
  let outputBytes = 0;
  let isWriting = false;
  let isInputOver = options.input === 'none';
  let readerWaits = false;
  let isStarting = true;

  /** Whether ffmpeg has something to do for us. Not while its reader is slow, nor while it was given nothing. */
  const owes = () => readerWaits && (isWriting || isInputOver);
  // A stopped or hanging ffmpeg gives no sign of its own: it is late when it owes us something and does nothing.
  const late = setTimeout(() => {
    if (leased !== null && owes())
      stream.destroy(new AudioFault('stalled', `could not be converted: no progress for ${bounds.stallMs / 1000} s`));
  }, bounds.stallMs).unref();
  const life = setTimeout(
    () => stream.destroy(new AudioFault('too-long', 'took too long to be converted')),
    bounds.lifeMs,
  ).unref();

  /** Something moved, or what is owed changed. */
  const moved = () => {
    late.refresh();
    leased?.setBusy(isStarting || owes() ? 'busy' : 'idle');
  };
  const started = () => {
    if (!isStarting) return;
    isStarting = false;
    // Somebody waits for the first bytes; the rest gives way to serving.
    leased?.process.giveWay();
    leased?.setBusy(owes() ? 'busy' : 'idle');
  };
  const whenThere = (act: (process: FfmpegProcess) => void) => {
    if (leased === null) onceThere.push(act);
    else act(leased.process);
  };
  const stream: Duplex = new Duplex({
    readableHighWaterMark: bufferBytes,
    writableHighWaterMark: bufferBytes,
    ...(options.signal && { signal: options.signal }),
    write(chunk: Buffer, _encoding, done) {
      whenThere((process) => {
        isWriting = true;
        moved();
        // An error here is an ffmpeg that reads no more; how it ends tells whether that was right.
        process.stdin?.write(chunk, () => {
          isWriting = false;
          done();
          moved();
        });
      });
    },
    final(done) {
      whenThere((process) => {
        isInputOver = true;
        moved();
        process.stdin?.end();
        done();
      });
    },
    read() {
      readerWaits = true;
      moved();
      whenThere((process) => process.stdout.resume());
    },
    destroy(error, done) {
      clearTimeout(late);
      clearTimeout(life);
      onceThere = [];
      waitingForSlot.abort(error ?? new Error('The stream was destroyed.'));
      leased?.process.kill();
      done(error);
    },
  });
  // A stream without input is only read.
  if (options.input === 'none') stream.end();

  lease(waitingForSlot.signal).then(
    (given) => {
      leased = given;
      const { process, release } = given;
      if (options.input === 'none') process.giveWay();
      setTimeout(started, startingMs).unref();
      if (stream.destroyed) process.kill();
      process.stdout.pause();
      process.stdout.on('data', (chunk: Buffer) => {
        if (outputBytes === 0) {
          started();
          given.begun();
        }
        moved();
        if (outputBytes === 0 && options.head !== undefined) stream.push(options.head);
        outputBytes += chunk.length;
        if (outputBytes > bounds.outputBytesMax)
          stream.destroy(new AudioFault('too-long', 'is longer than what is converted at once'));
        else if (!stream.destroyed && !stream.push(chunk)) {
          readerWaits = false;
          process.stdout.pause();
          moved();
        }
      });
      process.ended.then((ending) => {
        const fault = endingFault(ending);
        release(fault === null ? 'ended-well' : 'failed');
        if (stream.destroyed) return;
        if (fault === null) stream.push(null);
        else stream.destroy(fault);
      });
      late.refresh();
      for (const act of onceThere) act(process);
      onceThere = [];
    },
    (error) => {
      if (!stream.destroyed) stream.destroy(error);
    },
  );
  return stream;
}
