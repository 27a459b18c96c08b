import { Duplex } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import type { Ending, FfmpegProcess } from './ffmpeg-process.ts';

/** A process for one job, and what to do when it is over. */
export interface Lease {
  readonly process: FfmpegProcess;
  /**
   * For a process that had waited for this job: ends it and starts another in its place, once. Null where the process
   * was started for the job: there is nothing better to be had.
   */
  replace: (() => void) | null;
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
  /** The same for the first output of a process that had waited, which then gets a successor: it may have been stopped. */
  doubtMs: number;
  /** From its first output on, a job gives way to serving after this. */
  urgentMs: number;
  /** Longest life of one job. */
  lifeMs: number;
  /** Most that one job may give out. */
  outputBytesMax: number;
}

const bufferBytes = 64 * 1024;
/** More than goes into a standard input that nobody reads (some 200 KB on Linux): beyond it, somebody does. */
const unreadBytesMax = 1024 * 1024;
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
  /** What was written to a process that may be replaced; null once it has shown that it works, or was. */
  let unproven: { chunks: Buffer[]; bytes: number } | null = { chunks: [], bytes: 0 };
  /** Of the chunk that is being written. */
  let whenWritten = () => {};

  /** Whether ffmpeg has something to do for us. Not while its reader is slow, nor while it was given nothing. */
  const owes = () => readerWaits && (isWriting || isInputOver);
  // A stopped or hanging ffmpeg gives no sign of its own: it is late when it owes us something and does nothing.
  const late = setTimeout(() => {
    if (leased !== null && owes())
      stream.destroy(new AudioFault('stalled', `could not be converted: no progress for ${bounds.stallMs / 1000} s`));
  }, bounds.stallMs).unref();
  const doubt = setTimeout(() => {
    if (unproven !== null && owes()) replace();
  }, bounds.doubtMs).unref();
  const life = setTimeout(
    () => stream.destroy(new AudioFault('too-long', 'took too long to be converted')),
    bounds.lifeMs,
  ).unref();

  let urgent: NodeJS.Timeout | undefined;

  /** Something moved, or what is owed changed. */
  const moved = () => {
    late.refresh();
    if (unproven !== null) doubt.refresh();
    leased?.setBusy(isStarting || owes() ? 'busy' : 'idle');
  };
  const proven = () => {
    unproven = null;
    clearTimeout(doubt);
  };
  const give = (chunk: Buffer, process: FfmpegProcess) => {
    // An error here is an ffmpeg that reads no more; how it ends tells whether that was right.
    process.stdin?.write(chunk, () => {
      if (process !== leased?.process) return;
      isWriting = false;
      if (unproven !== null && unproven.bytes > unreadBytesMax) proven();
      whenWritten();
      moved();
    });
  };
  /** All that the one before was given is given to the next. */
  const replace = () => {
    if (leased === null || unproven === null || leased.replace === null) return;
    const { chunks } = unproven;
    proven();
    leased.replace();
    const { process } = leased;
    attend(process);
    const last = isWriting ? chunks.pop() : undefined;
    for (const chunk of chunks) process.stdin?.write(chunk);
    if (last !== undefined) give(last, process);
    if (isInputOver) process.stdin?.end();
    process.stdout.resume();
    late.refresh();
  };
  const started = () => {
    if (!isStarting) return;
    isStarting = false;
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
        whenWritten = done;
        if (unproven !== null) {
          unproven.chunks.push(chunk);
          unproven.bytes += chunk.length;
        }
        moved();
        give(chunk, process);
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
      proven();
      clearTimeout(life);
      clearTimeout(urgent);
      onceThere = [];
      waitingForSlot.abort(error ?? new Error('The stream was destroyed.'));
      leased?.process.kill();
      done(error);
    },
  });
  // A stream without input is only read.
  if (options.input === 'none') stream.end();

  /** Passes on what it gives and how it ends, as long as it is the one. */
  const attend = (process: FfmpegProcess) => {
    process.stdout.pause();
    process.stdout.on('data', (chunk: Buffer) => {
      if (leased?.process !== process) return;
      if (outputBytes === 0) {
        proven();
        started();
        // A short one is through by then; of a long one somebody has the first bytes, and the rest gives way to serving.
        urgent = setTimeout(process.giveWay, bounds.urgentMs).unref();
        leased.begun();
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
      if (leased?.process !== process) return;
      const fault = endingFault(ending);
      leased.release(fault === null ? 'ended-well' : 'failed');
      if (stream.destroyed) return;
      if (fault === null) stream.push(null);
      else stream.destroy(fault);
    });
  };

  lease(waitingForSlot.signal).then(
    (given) => {
      leased = given;
      const { process } = given;
      if (given.replace === null) proven();
      if (options.input === 'none') process.giveWay();
      setTimeout(started, startingMs).unref();
      if (stream.destroyed) process.kill();
      attend(process);
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

/** What an ended ffmpeg means; null: it did its work. */
function endingFault({ code, signal, complaint }: Ending): AudioFault | null {
  if (code === 0) return null;
  // SIGXCPU is the kernel's, at the CPU time that we allow.
  if (signal === 'SIGXCPU') return new AudioFault('too-long', 'takes too much work to be decoded', complaint);
  if (code === null)
    return new AudioFault('crashed', `could not be converted: ffmpeg ended by ${signal ?? 'not starting'}`, complaint);
  if (/Unknown encoder|Unrecognized option|Option .* not found/.test(complaint))
    return new AudioFault('crashed', 'could not be converted: this ffmpeg was built without the format', complaint);
  if (/Cannot allocate memory/.test(complaint))
    return new AudioFault('unreadable', 'asks for too much memory to be decoded', complaint);
  if (/matches no streams/.test(complaint)) return new AudioFault('unreadable', 'has no audio track', complaint);
  if (/moov atom not found/.test(complaint))
    return new AudioFault('unreadable', 'is cut off: its index (moov) is missing', complaint);
  if (/not on whitelist/.test(complaint))
    return new AudioFault('unreadable', 'is of a format that is not decoded here', complaint);
  return new AudioFault('unreadable', 'could not be decoded: it is not audio, or it is damaged', complaint);
}
