import type { Spool } from '../../net/spool.ts';
import type { CountServices } from '../families/chat/services.ts';
import type { EmbeddingServices } from '../families/embeddings/services.ts';
import type { ForwardedServices } from '../families/forwarded/services.ts';
import type { ImageServices } from '../families/images/services.ts';
import type { ResponsesServices } from '../families/responses/services.ts';
import type { SpeechServices } from '../families/speech/services.ts';
import type { TranscriptionServices } from '../families/transcription/services.ts';
import type { VideoServices } from '../families/videos/services.ts';
import type { BodyKeeper } from './body-keeper.ts';
import type { AllBodies } from './body-readers.ts';

/** Services of all families' requests; they live as long as the process. */
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
  /** Bodies that operators want kept. */
  bodyKeeper: BodyKeeper;
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
