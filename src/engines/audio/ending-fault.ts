import { AudioFault } from './audio-fault.ts';
import type { Ending } from './ffmpeg-process.ts';

/** The fault of an ended ffmpeg; null: it did its work. */
export function endingFault({ code, signal, complaint }: Ending): AudioFault | null {
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
