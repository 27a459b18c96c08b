import type { Duplex } from 'node:stream';
import { AudioFault } from '../../../engines/audio/audio-fault.ts';
import type { Conversion } from '../../../engines/audio/ffmpeg-arguments.ts';
import type { Transcoder } from '../../../engines/audio/transcode.ts';
import { wavHeaderBytes } from '../../../engines/audio/wav.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { FailureError, statusOf } from '../../../kernel/failure.ts';

/** Sound on its way from who speaks to the caller, converted if it must be. */
export interface SoundWay {
  /** False: behind; `onDrain` says when to go on. */
  write(sound: Buffer): boolean;
  /** No more will be written. Resolves when all has been passed on, with why not if it could not be. */
  end(): Promise<Fault | null>;
  /** The reader that was behind has caught up. */
  readerDrained(): void;
  /** Nothing is passed on any more. */
  stop(): void;
}

export interface SoundWayParts {
  transcoder: Pick<Transcoder, 'transcode'>;
  /** Takes the output; false: behind. */
  out(sound: Buffer): boolean;
  onDrain(): void;
  /** The conversion failed before `end` was called. */
  onFault(fault: Fault): void;
}

/** `conversion` null: straight on. A converter is made at once, so that it is there when the first bytes are. */
export function createSoundWay(conversion: Conversion | null, parts: SoundWayParts): SoundWay {
  return conversion === null ? straightOn(parts) : throughConverter(conversion, parts);
}

function straightOn({ out, onDrain }: SoundWayParts): SoundWay {
  return { write: out, end: async () => null, readerDrained: onDrain, stop() {} };
}

function throughConverter(conversion: Conversion, parts: SoundWayParts): SoundWay {
  const { transcoder, out, onDrain, onFault } = parts;
  const stream: Duplex = transcoder.transcode(conversion);
  let ended: Fault | null | undefined;
  let settle: ((fault: Fault | null) => void) | null = null;
  const over = (found: Fault | null) => {
    if (ended !== undefined) return;
    ended = found;
    if (settle !== null) settle(found);
    else if (found !== null) onFault(found);
  };
  /** A wav's header, which is there before it is known whether any sound is; null once some was. */
  let header: Buffer | null = Buffer.alloc(0);
  let passing = false;
  const pass = () => {
    if (passing) return;
    passing = true;
    stream.on('data', (converted: Buffer) => {
      let next = converted;
      if (header !== null) {
        next = Buffer.concat([header, converted]);
        header = next.length > wavHeaderBytes ? null : next;
        if (header !== null) return;
      }
      if (!out(next)) stream.pause();
    });
  };
  stream.on('drain', onDrain);
  stream.on('end', () => over(header === null ? null : fault('malformed', 'sent empty audio')));
  stream.on('error', (error) => over(conversionFault(error)));
  stream.on('close', () => over(fault('malformed', 'sent audio that could not be converted')));
  return {
    write(sound) {
      pass();
      return stream.write(sound);
    },
    end() {
      pass();
      stream.end();
      return ended === undefined
        ? new Promise((resolve) => {
            settle = resolve;
          })
        : Promise.resolve(ended);
    },
    readerDrained() {
      if (passing) stream.resume();
    },
    stop() {
      // The one that stops it knows why.
      if (ended === undefined) {
        ended = fault('cancelled', 'stopped');
        settle?.(ended);
      }
      stream.destroy();
    },
  };
}

/**
 * Sound that cannot be read is the fault of who sent it. Trouble of our own says nothing against a target: others are
 * tried, whose sound may need no conversion.
 */
function conversionFault(error: unknown): Fault {
  if (error instanceof AudioFault) {
    const ours = error.reason === 'crashed' || error.reason === 'stalled';
    return fault(ours ? 'gateway_fault' : 'malformed', `sent audio that ${error.message}`);
  }
  if (error instanceof FailureError && 'message' in error.failure)
    return fault('gateway_fault', error.failure.message, statusOf(error.failure));
  return fault('gateway_fault', 'sent audio that could not be converted');
}
