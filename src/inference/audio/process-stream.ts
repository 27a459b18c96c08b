import { Duplex } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import { endingFault } from './ending-fault.ts';
import type { FfmpegProcess } from './ffmpeg-process.ts';

/** A process for one job, and what to do when it is over. */
export interface Lease {
  process: FfmpegProcess;
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

/**
 * A process as a stream: what is written goes to its stdin, what is read comes from its stdout, with backpressure both
 * ways. It ends cleanly only when ffmpeg exited with 0; otherwise it is destroyed with an AudioFault (or with what
 * `lease` was rejected with). `head` is put before the first output. Destroying it, or aborting the signal that it was made with, kills the process.
 */
export function processStream(
  lease: (signal: AbortSignal) => Promise<Lease>,
  bounds: StreamBounds,
  options: { input: 'piped' | 'none'; signal?: AbortSignal | undefined; head?: Buffer | undefined },
): Duplex {
  const waitingForSlot = new AbortController();
  let process: FfmpegProcess | null = null;
  let onceThere: (() => void)[] = [];
  let outputBytes = 0;
  let isWriting = false;
  let isInputOver = options.input === 'none';
  let readerWaits = false;

  // A stopped or hanging ffmpeg gives no sign of its own: it is late when it owes us something and does nothing. It owes
  // nothing while its reader is slow, or while there is nothing to convert.
  const late = setTimeout(() => {
    if (process !== null && readerWaits && (isWriting || isInputOver))
      stream.destroy(new AudioFault('stalled', `could not be converted: no progress for ${bounds.stallMs / 1000} s`));
  }, bounds.stallMs).unref();
  const life = setTimeout(
    () => stream.destroy(new AudioFault('too-long', 'took too long to be converted')),
    bounds.lifeMs,
  ).unref();

  const whenThere = (act: () => void) => {
    if (process === null) onceThere.push(act);
    else act();
  };
  const stream: Duplex = new Duplex({
    readableHighWaterMark: bufferBytes,
    writableHighWaterMark: bufferBytes,
    ...(options.signal && { signal: options.signal }),
    write(chunk: Buffer, _encoding, done) {
      whenThere(() => {
        isWriting = true;
        late.refresh();
        // An error here is an ffmpeg that reads no more; how it ends tells whether that was right.
        process?.stdin?.write(chunk, () => {
          isWriting = false;
          late.refresh();
          done();
        });
      });
    },
    final(done) {
      whenThere(() => {
        isInputOver = true;
        late.refresh();
        process?.stdin?.end();
        done();
      });
    },
    read() {
      readerWaits = true;
      late.refresh();
      whenThere(() => process?.stdout.resume());
    },
    destroy(error, done) {
      clearTimeout(late);
      clearTimeout(life);
      onceThere = [];
      waitingForSlot.abort(error ?? new Error('The stream was destroyed.'));
      process?.kill();
      done(error);
    },
  });
  // A stream without input is only read.
  if (options.input === 'none') stream.end();

  lease(waitingForSlot.signal).then(
    ({ process: given, release }) => {
      process = given;
      if (stream.destroyed) given.kill();
      given.stdout.pause();
      given.stdout.on('data', (chunk: Buffer) => {
        late.refresh();
        if (outputBytes === 0 && options.head !== undefined) stream.push(options.head);
        outputBytes += chunk.length;
        if (outputBytes > bounds.outputBytesMax)
          stream.destroy(new AudioFault('too-long', 'is longer than what is converted at once'));
        else if (!stream.destroyed && !stream.push(chunk)) {
          readerWaits = false;
          given.stdout.pause();
        }
      });
      given.ended.then((ending) => {
        const fault = endingFault(ending);
        release(fault === null ? 'ended-well' : 'failed');
        if (stream.destroyed) return;
        if (fault === null) stream.push(null);
        else stream.destroy(fault);
      });
      late.refresh();
      for (const act of onceThere) act();
      onceThere = [];
    },
    (error) => {
      if (!stream.destroyed) stream.destroy(error);
    },
  );
  return stream;
}
