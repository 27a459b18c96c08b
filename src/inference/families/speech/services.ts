import type { SharedTranscoder } from '../../../engines/audio/transcode.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import type { RefusedFormats } from '../../spine/attempts/refused-formats.ts';
import type { BodyReader } from '../../spine/body-reader.ts';
import type { SpineServices } from '../../spine/services.ts';
import type { SpeechBody } from './speech-body.ts';
import type { VoiceLists } from './voice-lists.ts';

export interface SpeechServices extends SpineServices {
  bodies: BodyReader<{ speech: SpeechBody }>;
  /** Models of this process, or of a child of it, that speak, by their id. */
  speechEngines: ReadonlyMap<string, SpeechEngine>;
  transcoder: SharedTranscoder;
  /** Formats that targets refused before. */
  refusedFormats: RefusedFormats;
  /** The voices that servers list themselves. */
  voiceLists: VoiceLists;
}
