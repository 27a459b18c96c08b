import type { Failure } from '../../kernel/failure.ts';

/**
 * Why audio could not be converted. `unreadable`: it is not audio, or damaged, so the sender's fault;
 * `too-long`: it is more than we decode; `crashed` and `stalled`: ffmpeg's fault, another try may pass.
 */
export type AudioFaultReason = 'unreadable' | 'too-long' | 'crashed' | 'stalled';

/** A stream of the audio room ended with this instead of a clean end. */
export class AudioFault extends Error {
  readonly reason: AudioFaultReason;
  /** ffmpeg's last words: for the log, never for callers (they name files of this machine). */
  readonly detail: string;
  /** `message` is for callers: a sentence's rest after "The audio ", such as `has no audio track`. */
  constructor(reason: AudioFaultReason, message: string, detail = '') {
    super(message);
    this.name = 'AudioFault';
    this.reason = reason;
    this.detail = detail;
  }
}

/** Answered where ffmpeg is needed and not installed; `need` is the subject of the sentence. */
export function ffmpegMissing(need: string): Failure {
  return {
    kind: 'unsupported',
    message: `${need} needs ffmpeg, which is not installed on the gateway's machine. Install it (Debian or Ubuntu: apt install ffmpeg; macOS: brew install ffmpeg) and send the request again; no restart is needed.`,
  };
}
