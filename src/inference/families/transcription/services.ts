import type { SharedTranscoder } from '../../../engines/audio/transcode.ts';
import type { TranscriptionEngine } from '../../../engines/transcription-engine.ts';
import type { RefusedFormats } from '../../spine/attempts/refused-formats.ts';
import type { SpineServices } from '../../spine/services.ts';

export interface TranscriptionServices extends SpineServices {
  /** Models of this process, or of a child of it, that write down speech, by their id. */
  transcriptionEngines: ReadonlyMap<string, TranscriptionEngine>;
  transcoder: SharedTranscoder;
  /** Formats that targets refused before. */
  refusedFormats: RefusedFormats;
}
