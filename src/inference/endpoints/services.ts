import type { Spool } from '../../net/spool.ts';
import type { CountServices } from '../chat/services.ts';
import type { EmbeddingServices } from '../embeddings/services.ts';
import type { ForwardedServices } from '../forwarded/services.ts';
import type { ImageServices } from '../images/services.ts';
import type { ResponsesServices } from '../responses/services.ts';
import type { SpeechServices } from '../speech/services.ts';
import type { TranscriptionServices } from '../transcription/services.ts';
import type { VideoServices } from '../videos/services.ts';
import type { AllBodies } from './body-readers.ts';

/** What the requests of all families need; lives as long as the process. */
export interface Services
  extends CountServices,
    ResponsesServices,
    EmbeddingServices,
    SpeechServices,
    TranscriptionServices,
    ImageServices,
    VideoServices,
    ForwardedServices {
  bodies: AllBodies;
  objects: CountServices['objects'];
  storage: ImageServices['storage'];
  /** Uploads wait here. */
  spool: Spool;
  /** Keys that `telemetry.log.bodies` names. */
  logBodies(bodies: LoggedBodies): void;
}

/** Request and answer for the log: already bounded and without credentials. */
export interface LoggedBodies {
  requestId: string;
  /** `account/name`. */
  key: string;
  path: string;
  status: number;
  request: string;
  answer: string;
  /** Why there is no answer, or none to its end. */
  error?: string;
}
