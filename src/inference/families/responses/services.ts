import type { StorageBook } from '../../../books/metering/storage-book.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import type { ChatServices } from '../chat/services.ts';
import type { KeptResponses } from './kept-responses.ts';

export interface ResponsesServices extends ChatServices, ServeServices {
  responses: KeptResponses;
  storage: Pick<StorageBook, 'mayKeep'>;
  /** For the operator's log. */
  onTrouble(message: string): void;
}
