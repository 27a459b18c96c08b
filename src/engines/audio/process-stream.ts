import { addAbortSignal, Duplex } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import type { Ending, FfmpegProcess } from './ffmpeg-process.ts';

/** A process for one job, and what to do when it is over. */
export interface Lease {
  readonly process: FfmpegProcess;
  /**
   * For a process that had waited for this job: ends it and starts another in its place, once. Null when the process
   * was started for the job: a new one would not be better.
   */
  replace: (() => void) | null;
  /** Called whenever it changes whether the process has work to do. */
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
  /** After this time from its first output, a job gives way to serving. */
  urgentMs: number;
  /** Longest life of one job. */
  lifeMs: number;
  /** Most that one job may give out. */
  outputBytesMax: number;
}

const bufferBytes = 64 * 1024;
/** More than a standard input holds that nobody reads (some 200 KB on Linux). Beyond it, the process does read. */
const unreadBytesMax = 1024 * 1024;
/** How long a process that has not been given anything yet counts as starting. */
const startingMs = 250;

export interface StreamOptions {
  input: 'piped' | 'none';
  signal?: AbortSignal | undefined;
  /** Put before the first output. */
  head?: Buffer | undefined;
}

/**
 * A process as a stream: writes go to its stdin, reads come from its stdout, with backpressure both ways. It ends
 * cleanly only when ffmpeg exited with 0. Otherwise it is destroyed with an AudioFault (or with the rejection of
 * `lease`). Destroying it, or aborting its signal, kills the process.
 */
export class ProcessStream extends Duplex {
  readonly #bounds: StreamBounds;
  readonly #head: Buffer | undefined;
  readonly #hasInput: boolean;
  readonly #waitingForSlot = new AbortController();
  #leased: Lease | null = null;
  #onceThere: ((process: FfmpegProcess) => void)[] = [];
  #outputBytes = 0;
  #isWriting = false;
  #isInputOver: boolean;
  #readerWaits = false;
  #isStarting = true;
  /** Bytes written to a process that may be replaced; null once it has shown that it works, or was replaced. */
  #unproven: { chunks: Buffer[]; bytes: number } | null = { chunks: [], bytes: 0 };
  /** Callback of the chunk that is being written. */
  #whenWritten = () => {};
  /** A stopped or hanging ffmpeg gives no sign: it is late when it owes us something and does nothing. */
  readonly #late: NodeJS.Timeout;
  readonly #doubt: NodeJS.Timeout;
  readonly #life: NodeJS.Timeout;
  #urgent: NodeJS.Timeout | undefined;

  constructor(
    lease: (signal: AbortSignal) => Promise<Lease>,
    bounds: StreamBounds,
    { input, signal, head }: StreamOptions,
  ) {
    super({ readableHighWaterMark: bufferBytes, writableHighWaterMark: bufferBytes });
    this.#bounds = bounds;
    this.#head = head;
    this.#hasInput = input === 'piped';
    this.#isInputOver = !this.#hasInput;
    this.#late = setTimeout(() => this.#stalled(), bounds.stallMs).unref();
    this.#doubt = setTimeout(() => {
      if (this.#unproven !== null && this.#owes()) this.#replace();
    }, bounds.doubtMs).unref();
    this.#life = setTimeout(
      () => this.destroy(new AudioFault('too-long', 'took too long to be converted')),
      bounds.lifeMs,
    ).unref();
    if (signal !== undefined) addAbortSignal(signal, this);
    // A stream without input is only read.
    if (!this.#hasInput) this.end();
    lease(this.#waitingForSlot.signal).then(
      (given) => this.#begin(given),
      (error) => {
        if (!this.destroyed) this.destroy(error);
      },
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#whenThere((process) => {
      this.#isWriting = true;
      this.#whenWritten = done;
      if (this.#unproven !== null) {
        this.#unproven.chunks.push(chunk);
        this.#unproven.bytes += chunk.length;
      }
      this.#moved();
      this.#give(chunk, process);
    });
  }

  override _final(done: () => void): void {
    this.#whenThere((process) => {
      this.#isInputOver = true;
      this.#moved();
      process.stdin?.end();
      done();
    });
  }

  override _read(): void {
    this.#readerWaits = true;
    this.#moved();
    this.#whenThere((process) => process.stdout.resume());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#late);
    this.#proven();
    clearTimeout(this.#life);
    clearTimeout(this.#urgent);
    this.#onceThere = [];
    this.#waitingForSlot.abort(error ?? new Error('The stream was destroyed.'));
    this.#leased?.process.kill();
    done(error);
  }

  #begin(given: Lease): void {
    this.#leased = given;
    const { process } = given;
    if (given.replace === null) this.#proven();
    if (!this.#hasInput) process.giveWay();
    setTimeout(() => this.#started(), startingMs).unref();
    if (this.destroyed) process.kill();
    this.#attend(process);
    this.#late.refresh();
    for (const act of this.#onceThere) act(process);
    this.#onceThere = [];
  }

  #whenThere(act: (process: FfmpegProcess) => void): void {
    if (this.#leased === null) this.#onceThere.push(act);
    else act(this.#leased.process);
  }

  /** Whether ffmpeg has work for us. It has none while its reader is slow, or while it was given nothing. */
  #owes(): boolean {
    return this.#readerWaits && (this.#isWriting || this.#isInputOver);
  }

  /** Called when something moved, or when the outstanding work changed. */
  #moved(): void {
    this.#late.refresh();
    if (this.#unproven !== null) this.#doubt.refresh();
    this.#leased?.setBusy(this.#isStarting || this.#owes() ? 'busy' : 'idle');
  }

  #stalled(): void {
    if (this.#leased === null || !this.#owes()) return;
    const seconds = this.#bounds.stallMs / 1000;
    this.destroy(new AudioFault('stalled', `could not be converted: no progress for ${seconds} s`));
  }

  #started(): void {
    if (!this.#isStarting) return;
    this.#isStarting = false;
    this.#leased?.setBusy(this.#owes() ? 'busy' : 'idle');
  }

  #proven(): void {
    this.#unproven = null;
    clearTimeout(this.#doubt);
  }

  #give(chunk: Buffer, process: FfmpegProcess): void {
    // An error here is an ffmpeg that reads no more; how it ends tells whether that was right.
    process.stdin?.write(chunk, () => {
      if (process !== this.#leased?.process) return;
      this.#isWriting = false;
      if (this.#unproven !== null && this.#unproven.bytes > unreadBytesMax) this.#proven();
      this.#whenWritten();
      this.#moved();
    });
  }

  /** All that the one before was given is given to the next. */
  #replace(): void {
    if (this.#leased === null || this.#unproven === null || this.#leased.replace === null) return;
    const { chunks } = this.#unproven;
    this.#proven();
    this.#leased.replace();
    const { process } = this.#leased;
    this.#attend(process);
    const last = this.#isWriting ? chunks.pop() : undefined;
    for (const chunk of chunks) process.stdin?.write(chunk);
    if (last !== undefined) this.#give(last, process);
    if (this.#isInputOver) process.stdin?.end();
    process.stdout.resume();
    this.#late.refresh();
  }

  /** Passes on its output and its end, while it is the current process. */
  #attend(process: FfmpegProcess): void {
    process.stdout.pause();
    process.stdout.on('data', (chunk: Buffer) => {
      if (this.#leased?.process === process) this.#pass(chunk, process, this.#leased);
    });
    process.ended.then((ending) => {
      if (this.#leased?.process !== process) return;
      const fault = endingFault(ending);
      this.#leased.release(fault === null ? 'ended-well' : 'failed');
      if (this.destroyed) return;
      if (fault === null) this.push(null);
      else this.destroy(fault);
    });
  }

  #pass(chunk: Buffer, process: FfmpegProcess, leased: Lease): void {
    if (this.#outputBytes === 0) {
      this.#proven();
      this.#started();
      // A short one is through by then; of a long one the caller has the first bytes, and the rest gives way to serving.
      this.#urgent = setTimeout(process.giveWay, this.#bounds.urgentMs).unref();
      leased.begun();
    }
    this.#moved();
    if (this.#outputBytes === 0 && this.#head !== undefined) this.push(this.#head);
    this.#outputBytes += chunk.length;
    if (this.#outputBytes > this.#bounds.outputBytesMax)
      this.destroy(new AudioFault('too-long', 'is longer than Culvert converts at once'));
    else if (!this.destroyed && !this.push(chunk)) {
      this.#readerWaits = false;
      process.stdout.pause();
      this.#moved();
    }
  }
}

/** The fault of an ended ffmpeg; null: it did its work. */
function endingFault({ code, signal, complaint }: Ending): AudioFault | null {
  if (code === 0) return null;
  // SIGXCPU is the kernel's, at the CPU time that we allow.
  if (signal === 'SIGXCPU') return new AudioFault('too-long', 'takes too much work to decode', complaint);
  if (code === null)
    return new AudioFault('crashed', `could not be converted: ffmpeg ended by ${signal ?? 'not starting'}`, complaint);
  if (/Unknown encoder|Unrecognized option|Option .* not found/.test(complaint))
    return new AudioFault('crashed', 'could not be converted: this ffmpeg was built without the format', complaint);
  if (/Cannot allocate memory/.test(complaint))
    return new AudioFault('unreadable', 'needs too much memory to decode', complaint);
  if (/matches no streams/.test(complaint)) return new AudioFault('unreadable', 'has no audio track', complaint);
  if (/moov atom not found/.test(complaint))
    return new AudioFault('unreadable', 'is cut off: its index (moov) is missing', complaint);
  if (/not on whitelist/.test(complaint))
    return new AudioFault('unreadable', 'has a format that Culvert does not decode', complaint);
  return new AudioFault('unreadable', 'could not be decoded: it is not audio, or it is damaged', complaint);
}
